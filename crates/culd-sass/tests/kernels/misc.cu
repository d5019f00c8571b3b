// Instruction variety: generic stores, texture fetch forms, reductions without result, wide types, half comparisons, uniform operands.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void generic_store(int which, int *g, float v, int n) {
  __shared__ int s[64];
  s[threadIdx.x & 63] = threadIdx.x;
  __syncthreads();
  int *p = which ? s : g;
  if (threadIdx.x < n) { p[threadIdx.x] = (int)v; ((char *)p)[threadIdx.x + 256] = (char)n; ((long long *)p)[n] = n; }
  __syncthreads();
  g[threadIdx.x + 64] = s[threadIdx.x & 63];
}
extern "C" __global__ void generic_atomic(int which, int *g, int n) {
  __shared__ int s[64];
  s[threadIdx.x & 63] = 0;
  __syncthreads();
  int *p = which ? s : g;
  int r = atomicAdd(p + (threadIdx.x & 7), n);
  int q = atomicCAS(p + (threadIdx.x & 15), r, n);
  __syncthreads();
  g[threadIdx.x] = s[threadIdx.x & 63] + r + q;
}
extern "C" __global__ void tex_forms(cudaTextureObject_t a, cudaTextureObject_t b, cudaTextureObject_t c, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = i * 0.25f, y = n * 0.125f;
  float r = tex1Dfetch<float>(a, i) + tex2DLod<float>(b, x, y, 1.5f) + tex3D<float>(c, x, y, 0.5f) + tex2DLayered<float>(b, x, y, i & 3);
  float2 dx = make_float2(x, 0.1f), dy = make_float2(0.1f, y);
  r += tex2DGrad<float>(b, x, y, dx, dy);
  float4 g = tex2Dgather<float4>(b, x, y, 1);
  o[i] = r + g.x + g.y * g.z - g.w;
}
extern "C" __global__ void surf_forms(cudaSurfaceObject_t s, cudaSurfaceObject_t t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a = surf1Dread<int>(s, i * 4); float4 v = surf2Dread<float4>(t, i * 16, n);
  surf1Dwrite(a + 1, s, i * 4);
  surf2Dwrite(make_float4(v.y, v.x, v.w, v.z), t, i * 16, n);
}
extern "C" __global__ void dparam(double *x, double a, double b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  if (v > a) v = v * b; else v = v + a;
  x[i] = fma(v, a, b) * 3.0 + (double)(float)v + (double)(int)v + rint(v) + (v < b ? 1.0 : (double)(long long)i);
}
extern "C" __global__ void conversions(const float *x, long long *l, double *d, unsigned char *c, __half *h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  l[i] = (long long)v; d[i] = (double)l[i + n]; c[i] = (unsigned char)v; h[i] = __float2half(rintf(v) + floorf(v) + truncf(v));
  l[i + 2 * n] = (long long)d[i + n]; d[i + 3 * n] = (double)(unsigned)c[i + n]; ((float *)d)[i] = (float)d[i + n] + (float)l[i];
}
extern "C" __global__ void half_compare(const __half2 *a, const __half2 *b, __half2 *c, __half *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 x = a[i], y = b[i], r = __hmul2(x, y);
  if (__hbgt2(x, y)) r = __hadd2(r, y);
  c[i] = __hgt2(x, y) == r ? __hfma2_relu(x, y, r) : __hmin2(x, __hneg2(y));
  d[i] = __hlt(__low2half(x), __high2half(y)) ? h2exp(x).x : __hdiv(__low2half(x), __high2half(y));
}
extern "C" __global__ void bf16_ops(const __nv_bfloat162 *a, __nv_bfloat162 *b, float *f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat162 x = a[i], y = b[i];
  b[i] = __hfma2(x, y, __hmul2(x, x));
  f[i] = __bfloat162float(__hmax(x.x, y.y)) + (__hgt(x.x, y.x) ? 1.f : __bfloat162float(y.x));
  atomicAdd(b + n, x);
}
extern "C" __global__ void simd_video(const unsigned *a, const unsigned *b, unsigned *c, int n, int lo, int hi) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i];
  c[i] = __vabsdiffu4(x, y) + __vadd2(x, y) + __vmaxs2(x, y) + __vminu4(x, y) + __vcmpgtu4(x, y) + __sad(x, y, c[i]) + __usad(x, lo, hi) + min(max((int)x, lo), hi) + max(max((int)x, (int)y), lo) + __dp2a_lo((int)x, (int)y, lo) + abs(lo) + __funnelshift_l(x, y, lo);
}
extern "C" __global__ void release_acquire(int *flag, int *data, int n) {
  int i = threadIdx.x, v;
  data[i] = n;
  asm volatile("st.release.gpu.global.b32 [%0],%1;" ::"l"(flag + i), "r"(1) : "memory");
  do { asm volatile("ld.acquire.gpu.global.b32 %0,[%1];" : "=r"(v) : "l"(flag + (i ^ 1)) : "memory"); } while (v != 1);
  asm volatile("red.release.gpu.global.add.s32 [%0],%1;" ::"l"(flag + 64), "r"(v) : "memory");
  asm volatile("fence.acq_rel.sys;" ::: "memory");
  asm volatile("fence.sc.cluster;" ::: "memory");
  int o; asm volatile("atom.acq_rel.gpu.global.add.s32 %0,[%1],%2;" : "=r"(o) : "l"(flag + 65), "r"(v) : "memory");
  data[i + n] = o;
}
extern "C" __global__ void vector_red(float *x, const float4 *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = v[i];
  asm volatile("red.global.add.v4.f32 [%0],{%1,%2,%3,%4};" ::"l"(x + 4 * i), "f"(a.x), "f"(a.y), "f"(a.z), "f"(a.w) : "memory");
  atomicAdd((float2 *)x + i, make_float2(a.x, a.y));
}
extern "C" __global__ void wide256(const double4_32a *a, double4_32a *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double4_32a v = a[i];
  b[i] = make_double4_32a(v.w, v.z, v.y, v.x);
}
extern "C" __global__ void clocks(long long *t, const float *x, float *y, int n) {
  long long a = clock64();
  unsigned g; asm volatile("mov.u32 %0,%%smid;" : "=r"(g));
  float s = 0;
  for (int i = 0; i < n; i++) s += x[i * 32 + threadIdx.x] * i;
  y[threadIdx.x] = s;
  t[threadIdx.x] = clock64() - a + g;
}
extern "C" __global__ void early_exit(const int *x, int *y, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i];
  if (v < 0) { y[i] = -1; return; }
  for (int k = 0; k < v; k++) { if (x[k] == limit) return; if (x[k] == v) { y[i] = k; break; } }
  y[i + n] = v * limit;
}
extern "C" __global__ void nested(const int *x, int *y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
  for (int a = 0; a < n; a++) {
    if (x[a] & 1) { for (int b = a; b < m; b += 3) { if (x[b] > s) s += x[b] * a; else if (x[b] < -s) s -= b; } }
    else if (x[a] & 2) { s ^= x[a + i]; do { s = s * 3 + x[s & 31]; } while (s & 4); }
    else s++;
  }
  y[i] = s;
}
extern "C" __global__ void uniform_params(float *o, float a, float b, int k, long long q, const float *t) {
  float s = a * b;
  for (int i = 0; i < k; i++) { s += t[i] * a; if (i == q) s *= b; }
  o[blockIdx.x] = s + (k / 7) + (k % 5) + (float)(q >> 3);
}
extern "C" __global__ void volatile_mix(volatile int *v, int *w, int n) {
  __shared__ volatile int s[128];
  s[threadIdx.x] = v[threadIdx.x];
  __syncwarp();
  int a = s[threadIdx.x ^ 1];
  if (a > n) { v[threadIdx.x] = a; __threadfence_block(); w[threadIdx.x] = v[threadIdx.x ^ 3]; }
  __syncwarp(0xffff);
  w[threadIdx.x + n] = __shfl_sync(__activemask(), a, n) + __popc(__ballot_sync(0xffffffff, a > 3));
}
