// Half, bfloat16, fp8, tensor cores (mma.sync, wmma, ldmatrix), asynchronous copies.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <cuda_pipeline.h>
extern "C" __global__ void haxpy(int n, __half2 a, const __half2 *x, __half2 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(a, x[i], y[i]);
}
extern "C" __global__ void half_relu(int n, const __half *x, __half *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hmax(x[i], __float2half(0.f));
}
extern "C" __global__ void bf16_add(int n, const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __hadd2(a[i], b[i]);
}
extern "C" __global__ void f32_to_bf16(int n, const float4 *x, uint2 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = x[i];
  __nv_bfloat162 p = __floats2bfloat162_rn(v.x, v.y), q = __floats2bfloat162_rn(v.z, v.w);
  y[i] = make_uint2(*(unsigned *)&p, *(unsigned *)&q);
}
extern "C" __global__ void half_dot(int n, const __half2 *a, const __half2 *b, float *o) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { float2 x = __half22float2(a[i]), y = __half22float2(b[i]); s += x.x * y.x + x.y * y.y; }
  for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) atomicAdd(o, s);
}
extern "C" __global__ void half_softmax(const __half *x, __half *y, int n) {
  const __half *r = x + blockIdx.x * n; __half *o = y + blockIdx.x * n;
  float m = -60000.f;
  for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, __half2float(r[i]));
  for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 32) s += __expf(__half2float(r[i]) - m);
  for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
  s = __fdividef(1.f, s);
  for (int i = threadIdx.x; i < n; i += 32) o[i] = __float2half(__expf(__half2float(r[i]) - m) * s);
}
extern "C" __global__ void quant_int8(const float *x, char4 *q, float *scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = ((const float4 *)x)[i];
  float s = scale[blockIdx.x];
  q[i] = make_char4(__float2int_rn(v.x * s), __float2int_rn(v.y * s), __float2int_rn(v.z * s), __float2int_rn(v.w * s));
}
extern "C" __global__ void dp4a_gemv(const int *w, const int *x, int *y, int k) {
  int r = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
  for (int i = 0; i < k; i++) s = __dp4a(w[r * k + i], x[i], s);
  y[r] = s;
}
extern "C" __global__ void wmma_gemm(const __half *a, const __half *b, float *c, int m, int n, int k) {
  using namespace nvcuda::wmma;
  int wm = (blockIdx.x * blockDim.x + threadIdx.x) / 32, wn = blockIdx.y;
  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  for (int i = 0; i < k; i += 16) {
    load_matrix_sync(fa, a + wm * 16 * k + i, k);
    load_matrix_sync(fb, b + wn * 16 * k + i, k);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c + wm * 16 * n + wn * 16, fc, n, mem_row_major);
}
extern "C" __global__ void wmma_bf16_shared(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int k) {
  using namespace nvcuda::wmma;
  __shared__ __nv_bfloat16 A[16 * 16], B[16 * 16];
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  for (int i = 0; i < k; i += 16) {
    for (int t = threadIdx.x; t < 256; t += 32) { A[t] = a[(t / 16) * k + i + t % 16]; B[t] = b[(i + t / 16) * 16 + t % 16]; }
    __syncthreads();
    load_matrix_sync(fa, A, 16); load_matrix_sync(fb, B, 16);
    mma_sync(fc, fa, fb, fc);
    __syncthreads();
  }
  store_matrix_sync(c, fc, 16, mem_row_major);
}
__device__ __forceinline__ void ldmx4(unsigned *r, const void *p) {
  unsigned s = (unsigned)__cvta_generic_to_shared(p);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(s));
}
__device__ __forceinline__ void mma16816(float *d, const unsigned *a, const unsigned *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
extern "C" __global__ void __launch_bounds__(128) mma_gemm_async(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, int n, int k) {
  __shared__ __align__(128) __half A[2][64 * 40], B[2][64 * 40];
  int t = threadIdx.x, w = t / 32, lane = t % 32, r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
  float acc[8][4] = {};
  auto load = [&](int s, int k0) {
    for (int i = t; i < 256; i += 128) {
      __pipeline_memcpy_async(&A[s][(i / 4) * 40 + (i % 4) * 8], a + (size_t)(r0 + i / 4) * k + k0 + (i % 4) * 8, 16);
      __pipeline_memcpy_async(&B[s][(i / 4) * 40 + (i % 4) * 8], b + (size_t)(c0 + i / 4) * k + k0 + (i % 4) * 8, 16);
    }
    __pipeline_commit();
  };
  load(0, 0);
  for (int k0 = 0, s = 0; k0 < k; k0 += 32, s ^= 1) {
    if (k0 + 32 < k) { load(s ^ 1, k0 + 32); __pipeline_wait_prior(1); } else __pipeline_wait_prior(0);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      unsigned fa[4], fb[4];
      ldmx4(fa, &A[s][(w * 16 + lane % 16) * 40 + kk + (lane / 16) * 8]);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        ldmx4(fb, &B[s][(j * 16 + lane % 16) * 40 + kk + (lane / 16) * 8]);
        unsigned b0[2] = {fb[0], fb[2]}, b1[2] = {fb[1], fb[3]};
        mma16816(acc[2 * j], fa, b0); mma16816(acc[2 * j + 1], fa, b1);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 8; j++) {
    int r = r0 + w * 16 + lane / 4, q = c0 + j * 8 + (lane % 4) * 2;
    *(float2 *)(c + (size_t)r * n + q) = make_float2(acc[j][0], acc[j][1]);
    *(float2 *)(c + (size_t)(r + 8) * n + q) = make_float2(acc[j][2], acc[j][3]);
  }
}
extern "C" __global__ void mma_int8(const int *a, const int *b, int *c, int k) {
  int d[4] = {};
  for (int i = 0; i < k; i++) {
    const int *pa = a + i * 128 + threadIdx.x * 4, *pb = b + i * 64 + threadIdx.x * 2;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(pa[0]), "r"(pa[1]), "r"(pa[2]), "r"(pa[3]), "r"(pb[0]), "r"(pb[1]));
  }
  for (int j = 0; j < 4; j++) c[threadIdx.x * 4 + j] = d[j];
}
extern "C" __global__ void mma_tf32(const float *a, const float *b, float *c, int k) {
  float d[4] = {};
  for (int i = 0; i < k; i++) {
    unsigned x[4], y[2];
    for (int j = 0; j < 4; j++) asm("cvt.rna.tf32.f32 %0,%1;" : "=r"(x[j]) : "f"(a[i * 128 + j * 32 + threadIdx.x]));
    for (int j = 0; j < 2; j++) asm("cvt.rna.tf32.f32 %0,%1;" : "=r"(y[j]) : "f"(b[i * 64 + j * 32 + threadIdx.x]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
  for (int j = 0; j < 4; j++) c[threadIdx.x * 4 + j] = d[j];
}
extern "C" __global__ void mma_f64(const double *a, const double *b, double *c, int k) {
  double d0 = 0, d1 = 0;
  for (int i = 0; i < k; i++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};" : "+d"(d0), "+d"(d1) : "d"(a[i * 32 + threadIdx.x]), "d"(b[i * 32 + threadIdx.x]));
  c[threadIdx.x * 2] = d0; c[threadIdx.x * 2 + 1] = d1;
}
extern "C" __global__ void fp8_dequant(const unsigned short *x, __half2 *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned r;
  asm("cvt.rn.f16x2.e4m3x2 %0,%1;" : "=r"(r) : "h"(x[i]));
  y[i] = *(__half2 *)&r;
}
extern "C" __global__ void async_copy_scale(const float4 *x, float4 *y, int n, float s) {
  __shared__ float4 b[2][128];
  int t = threadIdx.x, base = blockIdx.x * 512;
  __pipeline_memcpy_async(&b[0][t], x + base + t, 16);
  __pipeline_commit();
  for (int k = 0; k < 4; k++) {
    if (k < 3) __pipeline_memcpy_async(&b[(k + 1) & 1][t], x + base + (k + 1) * 128 + t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = b[k & 1][t ^ 1];
    y[base + k * 128 + t] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s);
    __syncthreads();
  }
}
extern "C" __global__ void flash_row(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, float *__restrict__ o, int n) {
  const int D = 32;
  __shared__ float K[32][33], V[32][33];
  int lane = threadIdx.x, row = blockIdx.x;
  float qd = q[row * D + lane], m = -3e38f, l = 0, acc = 0;
  for (int t = 0; t < n; t += 32) {
    for (int j = 0; j < 32; j++) { K[j][lane] = k[(t + j) * D + lane]; V[j][lane] = v[(t + j) * D + lane]; }
    __syncwarp();
    float s = 0;
    for (int d = 0; d < D; d++) s += __shfl_sync(~0u, qd, d) * K[lane][d];
    float mx = s;
    for (int z = 16; z; z >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, z));
    float mn = fmaxf(m, mx), p = __expf(s - mn), c = __expf(m - mn), ps = p;
    for (int z = 16; z; z >>= 1) ps += __shfl_xor_sync(~0u, ps, z);
    l = l * c + ps; acc *= c; m = mn;
    for (int j = 0; j < 32; j++) acc += __shfl_sync(~0u, p, j) * V[j][lane];
    __syncwarp();
  }
  o[row * D + lane] = __fdividef(acc, l);
}
