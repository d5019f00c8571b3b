// Kernels of an inference library: tensor memory, bulk copies, matrix products of small types. parts: 23 only: sm_120a
#if PART == 0
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_dual_default_heads_h48_80_112_fold.cu>
#elif PART == 1
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_dual_ra_sa_lq_el_pw_h32_fold.cu>
#elif PART == 2
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_dual_sa_ip_ew_ra_pw_h64_fold.cu>
#elif PART == 3
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_dual_sa_lq_t1_el_ew_ra_pw_h64_fold.cu>
#elif PART == 4
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_h16_single_default.cu>
#elif PART == 5
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_h32_dual_tl_ip_e2m1_nomul.cu>
#elif PART == 6
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_merge_mo2_heads_h8_16_32_64_128_fold.cu>
#elif PART == 7
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_single_default_heads_h48_80_112_fold.cu>
#elif PART == 8
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv4_nvfp4_h128.cu>
#elif PART == 9
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv4_nvfp4_h64.cu>
#elif PART == 10
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv4_nvfp4_h8.cu>
#elif PART == 11
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv4_nvfp4_h96.cu>
#elif PART == 12
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv4_nvfp4_prefill_h32.cu>
#elif PART == 13
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv4_nvfp4_prefill_h48.cu>
#elif PART == 14
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv4_nvfp4_prefill_h96.cu>
#elif PART == 15
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_08683144a7b6c64433ad_kernel.cu>
#elif PART == 16
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_0f9c7da2c88932b636d1_kernel.cu>
#elif PART == 17
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_386f636f65fcfae07807_kernel.cu>
#elif PART == 18
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_59d2437f3af320cc32c8_kernel.cu>
#elif PART == 19
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_6a1fcc34a68d31545b23_kernel.cu>
#elif PART == 20
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_82751a008faeeeb37778_kernel.cu>
#elif PART == 21
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_ac8c0628f84e77fb565d_kernel.cu>
#elif PART == 22
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_c214204e0e4b13466e20_kernel.cu>
#endif
