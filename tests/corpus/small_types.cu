// half, bf16, fp8, fp6, fp4: conversions, arithmetic, packed forms, matrix products.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <mma.h>
template <class T> __global__ void axpy(const T *a, T *b, T s, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = __hfma(s, a[i], b[i]); }
template <class T> __global__ void softmax(const T *a, T *o, int n) { __shared__ float s[32]; float m = -1e30f, z = 0; const T *r = a + blockIdx.x * n; for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, float(r[i])); for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d)); if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m; __syncthreads(); for (int i = 0; i < blockDim.x / 32; i++) m = fmaxf(m, s[i]); __syncthreads(); for (int i = threadIdx.x; i < n; i += blockDim.x) z += __expf(float(r[i]) - m); for (int d = 16; d; d /= 2) z += __shfl_xor_sync(~0u, z, d); if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = z; __syncthreads(); z = 0; for (int i = 0; i < blockDim.x / 32; i++) z += s[i]; for (int i = threadIdx.x; i < n; i += blockDim.x) o[blockIdx.x * n + i] = T(__expf(float(r[i]) - m) / z); }
template <class T> __global__ void norm(const T *a, const T *g, T *o, int n, float e) { float q = 0; const T *r = a + blockIdx.x * n; for (int i = threadIdx.x; i < n; i += 32) q += float(r[i]) * float(r[i]); for (int d = 16; d; d /= 2) q += __shfl_xor_sync(~0u, q, d); q = rsqrtf(q / n + e); for (int i = threadIdx.x; i < n; i += 32) o[blockIdx.x * n + i] = T(float(r[i]) * q * float(g[i])); }
template <class T> __global__ void unary(const T *a, T *o) { T x = a[threadIdx.x]; o[threadIdx.x] = hexp(x) + hlog(x) * hsqrt(x) - hsin(x) + hrcp(x) + hrsqrt(x) + hfloor(x) + htrunc(x); }
template <class T> __global__ void compare(const T *a, const T *b, T *o) { T x = a[threadIdx.x], y = b[threadIdx.x]; o[threadIdx.x] = __hgt(x, y) ? __hmax(x, y) : __hisnan(x) ? __hneg(y) : __hadd_sat(x, y); }
template <class T> __global__ void atomics(T *a, T v) { atomicAdd(a + threadIdx.x, v); }
template <class T> __global__ void wmma(const T *a, const T *b, float *c, int k) { using namespace nvcuda::wmma; fragment<matrix_a, 16, 16, 16, T, row_major> x; fragment<matrix_b, 16, 16, 16, T, col_major> y; fragment<accumulator, 16, 16, 16, float> z; fill_fragment(z, 0.f); for (int i = 0; i < k; i += 16) { load_matrix_sync(x, a + i, k); load_matrix_sync(y, b + i, k); mma_sync(z, x, y, z); } store_matrix_sync(c, z, 16, mem_row_major); }
#define ONE(T) template __global__ void axpy<T>(const T *, T *, T, int); template __global__ void softmax<T>(const T *, T *, int); template __global__ void norm<T>(const T *, const T *, T *, int, float); template __global__ void unary<T>(const T *, T *); template __global__ void compare<T>(const T *, const T *, T *); template __global__ void atomics<T>(T *, T); template __global__ void wmma<T>(const T *, const T *, float *, int);
ONE(__half) ONE(__nv_bfloat16)
template <class T> __global__ void axpy2(const T *a, T *b, T s, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = __hfma2(s, a[i], b[i]); }
template <class T> __global__ void gelu2(const T *a, T *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { T x = a[i]; o[i] = __hmul2(x, h2exp(__hneg2(__hmul2(x, x)))); } }
template __global__ void axpy2<__half2>(const __half2 *, __half2 *, __half2, int); template __global__ void axpy2<__nv_bfloat162>(const __nv_bfloat162 *, __nv_bfloat162 *, __nv_bfloat162, int); template __global__ void gelu2<__half2>(const __half2 *, __half2 *, int); template __global__ void gelu2<__nv_bfloat162>(const __nv_bfloat162 *, __nv_bfloat162 *, int);
template <class Q, class T> __global__ void quantize(const T *a, Q *o, float s, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = Q(float(a[i]) * s); }
template <class Q, class T> __global__ void dequantize(const Q *a, T *o, float s, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = T(float(a[i]) * s); }
template <class Q, class T> __global__ void dot(const Q *a, const Q *b, T *o, int n) { float x = 0; for (int i = threadIdx.x; i < n; i += 32) x += float(a[i]) * float(b[i]); for (int d = 16; d; d /= 2) x += __shfl_down_sync(~0u, x, d); if (threadIdx.x == 0) *o = T(x); }
#define TWO(Q, T) template __global__ void quantize<Q, T>(const T *, Q *, float, int); template __global__ void dequantize<Q, T>(const Q *, T *, float, int); template __global__ void dot<Q, T>(const Q *, const Q *, T *, int);
TWO(__nv_fp8_e4m3, float) TWO(__nv_fp8_e5m2, __half) TWO(__nv_fp8_e8m0, float) TWO(__nv_fp6_e2m3, float) TWO(__nv_fp6_e3m2, __half) TWO(__nv_fp4_e2m1, float)
__global__ void fp4x4(const __nv_fp4x4_e2m1 *a, float4 *o) { o[threadIdx.x] = float4(a[threadIdx.x]); }
__global__ void fp8x4(const float4 *a, __nv_fp8x4_e4m3 *o) { o[threadIdx.x] = __nv_fp8x4_e4m3(a[threadIdx.x]); }
