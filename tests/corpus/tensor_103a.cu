// Kernels of an inference library: tensor memory, bulk copies, matrix products of small types. parts: 31 only: sm_103a
#if PART == 0
#include <flashinfer/data/csrc/alphamoe_router/tiny.cu>
#elif PART == 1
#include <flashinfer/data/csrc/blackwell_bf16_fp4/cake_blackwell_bf16_fp4_4e45c544bae61d4e9100_kernel.cu>
#elif PART == 2
#include <flashinfer/data/csrc/blackwell_bf16_fp4/cake_blackwell_bf16_fp4_c1f6887e0740c60b35cb_kernel.cu>
#elif PART == 3
#include <flashinfer/data/csrc/cake_batch_deepgemm_fp8/cake_batch_deepgemm_fp8_ba92e96364e30012640e_kernel.cu>
#elif PART == 4
#include <flashinfer/data/csrc/cake_bf16_bmm/cake_bf16_bmm_5fb134eefb0c3d4d3572_kernel.cu>
#elif PART == 5
#include <flashinfer/data/csrc/cake_bf16_bmm/cake_bf16_bmm_74b735e0c2a4a0ab11b5_kernel.cu>
#elif PART == 6
#include <flashinfer/data/csrc/cake_bf16_bmm/cake_bf16_bmm_8bbbf16d966b721a5216_kernel.cu>
#elif PART == 7
#include <flashinfer/data/csrc/cake_bf16_bmm/cake_bf16_bmm_beecb1dd16619150e5dc_kernel.cu>
#elif PART == 8
#include <flashinfer/data/csrc/cake_bgmv_moe/cake_bgmv_moe_bf16_h2688.cu>
#elif PART == 9
#include <flashinfer/data/csrc/cake_bgmv_moe/cake_bgmv_moe_bf16_h3072.cu>
#elif PART == 10
#include <flashinfer/data/csrc/cake_bgmv_moe/cake_bgmv_moe_f16_h2688.cu>
#elif PART == 11
#include <flashinfer/data/csrc/cake_bgmv_moe/cake_bgmv_moe_generic_bf16_r32.cu>
#elif PART == 12
#include <flashinfer/data/csrc/cake_bgmv_moe/cake_bgmv_moe_generic_f16_r32.cu>
#elif PART == 13
#include <flashinfer/data/csrc/cake_dsv4/common/cake_dsv4_bf16_h64_prefill_kernel.cu>
#elif PART == 14
#include <flashinfer/data/csrc/cake_dsv4/common/cake_dsv4_nvfp4_decode_tile_oc4_kernel.cu>
#elif PART == 15
#include <flashinfer/data/csrc/cake_dsv4/sm_100a/cake_dsv4_3ece163d046b58c2176f_kernel.cu>
#elif PART == 16
#include <flashinfer/data/csrc/cake_dsv4/sm_100a/cake_dsv4_af6513d00eb085057e6b_kernel.cu>
#elif PART == 17
#include <flashinfer/data/csrc/cake_fmha/cuda/context_fp16_hd256/is_causal0.cu>
#elif PART == 18
#include <flashinfer/data/csrc/cake_fmha/cuda/decode_native_fp16_nhd/has_sink1_has_window0_retain_kv_l21_use_scale_ptr1.cu>
#elif PART == 19
#include <flashinfer/data/csrc/cake_fmha/cuda/decode_quant_fp8/sm_103a/full_blocks1_page_size16.cu>
#elif PART == 20
#include <flashinfer/data/csrc/cake_fused_qk_rope_append/sm_103a/cake_fused_qk_rope_append_43c1aaca2d00f74d875f_kernel.cu>
#elif PART == 21
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_aa9589fa9d54f340e6b1_kernel.cu>
#elif PART == 22
#include <flashinfer/data/csrc/experimental/deepgemm_kgroup_gemm/generated/cake_deepgemm_kgroup_gemm_a2a735d32f4d0116c2ec_kernel.cu>
#elif PART == 23
#include <flashinfer/data/csrc/experimental/deepgemm_mixed_gemm/cake_deepgemm_mixed_gemm_20bec5dc16309a77b8c4_kernel.cu>
#elif PART == 24
#include <flashinfer/data/csrc/experimental/deepgemm_mixed_gemm/cake_deepgemm_mixed_gemm_a0f125c27e5a860a3f90_kernel.cu>
#elif PART == 25
#include <flashinfer/data/csrc/fused_moe/cake_mxfp4_situ_moe/cuda/sm_103a/cake_mxfp4_situ_moe_a5205558f1766bc3d433_kernel.cu>
#elif PART == 26
#include <flashinfer/data/csrc/kda/bf16/cake_kda_bf16_fc2c343905a5694cae94eae5727ae03dd02643f04b7380d81f88d048fc4238e8_kernel.cu>
#elif PART == 27
#include <flashinfer/data/csrc/kda/cake_flashkda_packed_t1_tile8.cu>
#elif PART == 28
#include <flashinfer/data/csrc/kda/cake_fused_kda_decode_7e841caca37f5c48f0a3_kernel.cu>
#elif PART == 29
#include <flashinfer/data/csrc/kda/cake_fused_kda_decode_dd24f0fe2c61f6730898_kernel.cu>
#elif PART == 30
#include <flashinfer/data/csrc/kda/cake_kda_packed_t1_cpasync_tile128_packed_state_v_private_prefetch.cu>
#endif
