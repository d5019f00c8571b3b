// Kernels of an inference library: tensor memory, bulk copies, matrix products of small types. parts: 47 only: sm_100a
#if PART == 0
#include <flashinfer/data/csrc/alphamoe_nvfp4_c376_alignment.cu>
#elif PART == 1
#include <flashinfer/data/csrc/cake_all_gather_matmul/cake_all_gather_matmul_2e04a762811cd00a1cd5_kernel.cu>
#elif PART == 2
#include <flashinfer/data/csrc/cake_batch_deepgemm_fp8/cake_batch_deepgemm_fp8_8c4067fce6c805ee9300_kernel.cu>
#elif PART == 3
#include <flashinfer/data/csrc/cake_dsv4/sm_103a/cake_dsv4_4ca59064569bce4c30ea_kernel.cu>
#elif PART == 4
#include <flashinfer/data/csrc/cake_dsv4/sm_103a/cake_dsv4_e66b931b4499db288499_kernel.cu>
#elif PART == 5
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_h64_dual_sa_tl_ip_el_e2m1_nomul.cu>
#elif PART == 6
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_h8_single_default.cu>
#elif PART == 7
#include <flashinfer/data/csrc/cake_dsv4/sm_120a/cake_sparse_mla_dsv41_mixed_merge_mo2_heads_h8_16_32_64_128_fold.cu>
#elif PART == 8
#include <flashinfer/data/csrc/cake_fmha/cuda/context_bf16/sm_100a/enable_sink0_is_causal0_return_lse1.cu>
#elif PART == 9
#include <flashinfer/data/csrc/cake_fmha/cuda/context_fp8/enable_sink0_is_causal1_return_lse0.cu>
#elif PART == 10
#include <flashinfer/data/csrc/cake_fmha/cuda/decode_native_bf16/batch_size128_has_sink0_has_window0_num_kv_heads4_num_q_heads32_q_len1_retain_kv_l20_use_scale_ptr0.cu>
#elif PART == 11
#include <flashinfer/data/csrc/cake_fmha/cuda/decode_native_bf16/sm_103a/batch_size256_has_sink1_has_window0_num_kv_heads4_num_q_heads32_q_len1_retain_kv_l20_use_scale_ptr0.cu>
#elif PART == 12
#include <flashinfer/data/csrc/cake_fmha/cuda/decode_native_fp16_hd512/has_window0_retain_kv_l20_use_scale_ptr1.cu>
#elif PART == 13
#include <flashinfer/data/csrc/cake_fmha/cuda/decode_native_fp16_nhd/has_sink0_has_window0_retain_kv_l20_use_scale_ptr1.cu>
#elif PART == 14
#include <flashinfer/data/csrc/cake_fmha/cuda/decode_native_fp16_nhd/has_sink0_has_window0_retain_kv_l21_use_scale_ptr0.cu>
#elif PART == 15
#include <flashinfer/data/csrc/cake_fmha/request_ordered_paged_decode/generated/sm_103a/cake_fmha_request_ordered_paged_decode_fallback_kernel.cu>
#elif PART == 16
#include <flashinfer/data/csrc/cake_fused_qk_rope_append/sm_103a/cake_fused_qk_rope_append_6dc02f5530780f401310_kernel.cu>
#elif PART == 17
#include <flashinfer/data/csrc/cake_grouped_mxfp8_quantize/cake_grouped_mxfp8_quantize_8d0f000cf214bc5e1375_kernel.cu>
#elif PART == 18
#include <flashinfer/data/csrc/cake_nvfp4_svdquant_gemm/cake_nvfp4_svdquant_gemm_a23d58513bbad95f80ce_kernel.cu>
#elif PART == 19
#include <flashinfer/data/csrc/cake_router_gemm/cake_router_gemm_m2_k7168_device.cu>
#elif PART == 20
#include <flashinfer/data/csrc/cake_router_gemm/cake_router_gemm_m7_k6144_device.cu>
#elif PART == 21
#include <flashinfer/data/csrc/cake_sage_block_sparse_attention/sm_120a/cake_sage_block_sparse_attention_59d2437f3af320cc32c8_kernel.cu>
#elif PART == 22
#include <flashinfer/data/csrc/cake_selective_state_update/cake_selective_state_update_ae6bcb235d195b6ef079_kernel.cu>
#elif PART == 23
#include <flashinfer/data/csrc/experimental/deepgemm_kgroup_gemm/generated/cake_deepgemm_kgroup_gemm_fb4cdee6c050c1b2c52d_kernel.cu>
#elif PART == 24
#include <flashinfer/data/csrc/fused_moe/cake_kimi_k3_situ/cake_kimi_k3_nvfp4_situ_routed_moe_bbe92c87025334a5d802_kernel.cu>
#elif PART == 25
#include <flashinfer/data/csrc/fused_moe/cake_mxfp4_situ_moe/cuda/sm_103a/cake_mxfp4_situ_moe_48b1e819a69bf3d79498_kernel.cu>
#elif PART == 26
#include <flashinfer/data/csrc/fused_moe/cake_mxfp4_situ_moe/cuda/sm_103a/cake_mxfp4_situ_moe_a4be3d1588f6a37bcb19_kernel.cu>
#elif PART == 27
#include <flashinfer/data/csrc/fused_moe/cake_mxfp4_situ_moe/cuda/sm_103a/cake_mxfp4_situ_moe_a7fb7908108c7c538ec7_kernel.cu>
#elif PART == 28
#include <flashinfer/data/csrc/fused_moe/cake_mxfp4_situ_moe/cuda/sm_103a/cake_mxfp4_situ_moe_d5854e23b90a0700c600_kernel.cu>
#elif PART == 29
#include <flashinfer/data/csrc/fused_moe/warp_decode/generated/sm_100a/cake_warp_decode_56ddbbdf57cdb02ccd29_kernel.cu>
#elif PART == 30
#include <flashinfer/data/csrc/fused_moe/warp_decode/generated/sm_103a/cake_warp_decode_31a3880ae8e28c314b6e_kernel.cu>
#elif PART == 31
#include <flashinfer/data/csrc/fused_moe/warp_decode/generated/sm_103a/cake_warp_decode_ca90fcc9f37486b6d2af_kernel.cu>
#elif PART == 32
#include <flashinfer/data/csrc/gdn/gdn_cp/cake_gdn_cp_173b7a01d35b79f84731_kernel.cu>
#elif PART == 33
#include <flashinfer/data/csrc/gdn/gdn_cp/cake_gdn_cp_7c18fb3d6e06a4d25a64_kernel.cu>
#elif PART == 34
#include <flashinfer/data/csrc/generated/ulysses/cake_ulysses_a2a_67f08c8843354b114fa0_kernel.cu>
#elif PART == 35
#include <flashinfer/data/csrc/generated/ulysses/cake_ulysses_a2a_80ac1f368b5e2e162a4f_kernel.cu>
#elif PART == 36
#include <flashinfer/data/csrc/generated/ulysses/cake_ulysses_a2a_b3e242482bd4ee11df46_kernel.cu>
#elif PART == 37
#include <flashinfer/data/csrc/kda/bf16/cake_kda_bf16_43dd64bbdf1bc9d8102aad406793ec3e7d804da4bb2cb50f695ca89248be9f8b_kernel.cu>
#elif PART == 38
#include <flashinfer/data/csrc/kda/bf16/cake_kda_bf16_9ca3d761d899c7f54b0bf5b0f3ae2e6ab7b01169fe266afbd558ce0cdee1f8a2_kernel.cu>
#elif PART == 39
#include <flashinfer/data/csrc/kda/cake_flashkda_bf16_bt16_prepare_beta_tma.cu>
#elif PART == 40
#include <flashinfer/data/csrc/kda/cake_flashkda_bf16_piece_persistent_m128.cu>
#elif PART == 41
#include <flashinfer/data/csrc/kda/cake_fused_kda_decode_47e6858f50f60799991b_kernel.cu>
#elif PART == 42
#include <flashinfer/data/csrc/kda/cake_fused_kda_decode_59e2055a73df5c6ec7fa_kernel.cu>
#elif PART == 43
#include <flashinfer/data/csrc/kda/cake_fused_kda_decode_9fb82e69235a7fdd5f96_kernel.cu>
#elif PART == 44
#include <flashinfer/data/csrc/kda/flashkda_generated_bf16_bt16_prepare_0d8e6c8011.cu>
#elif PART == 45
#include <flashinfer/data/csrc/kda/tf32/cake_kda_tf32_572fd9b9998720563112d5c68df0101895e01e09bbdb475d52448d0c27f5d7fd_kernel.cu>
#elif PART == 46
#include <flashinfer/data/csrc/kda/tf32/cake_kda_tf32_ac2bd32c98dcfb11feed3b3ccac14797e2625b35c14ba59475812ec2641971a2_kernel.cu>
#endif
