// Element-wise kernels: one thread per element, grid-stride loops, vector types, special functions.
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void saxpy_stride(int n, float a, const float *__restrict__ x, float *__restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void scale4(int n, float a, const float4 *x, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = x[i];
  v.x *= a; v.y *= a; v.z *= a; v.w *= a;
  y[i] = v;
}
extern "C" __global__ void gelu(int n, const float *__restrict__ x, float *__restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}
extern "C" __global__ void silu_mul(int n, const float *g, const float *u, float *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = g[i] * __fdividef(1.0f, 1.0f + __expf(-g[i])) * u[i];
}
extern "C" __global__ void clampf(int n, float lo, float hi, float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = fminf(fmaxf(x[i], lo), hi);
}
extern "C" __global__ void rgb2gray(const uchar4 *in, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  uchar4 p = in[y * w + x];
  out[y * w + x] = (unsigned char)((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
}
extern "C" __global__ void black_scholes(int n, const float *S, const float *X, const float *T, float r, float v, float *call, float *put) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = S[i], x = X[i], t = T[i];
  float q = v * __fsqrt_rn(t);
  float d1 = __fdividef(__logf(__fdividef(s, x)) + (r + 0.5f * v * v) * t, q), d2 = d1 - q;
  float c1 = 0.5f * erfcf(-d1 * 0.70710678f), c2 = 0.5f * erfcf(-d2 * 0.70710678f);
  float e = __expf(-r * t);
  float c = s * c1 - x * e * c2;
  call[i] = c;
  put[i] = c + x * e - s;
}
extern "C" __global__ void adam(int n, float *p, const float *g, float *m, float *v, float lr, float b1, float b2, float eps) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float gi = g[i], mi = b1 * m[i] + (1 - b1) * gi, vi = b2 * v[i] + (1 - b2) * gi * gi;
    m[i] = mi; v[i] = vi;
    p[i] -= lr * __fdividef(mi, eps + vi * rsqrtf(vi + 1e-20f));
  }
}
extern "C" __global__ void mandelbrot(unsigned *out, int w, int h, float x0, float y0, float dx, int maxit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float cr = x0 + x * dx, ci = y0 + y * dx, zr = 0, zi = 0;
  int it = 0;
  while (it < maxit && zr * zr + zi * zi < 4.0f) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci; zr = t; it++;
  }
  out[y * w + x] = it;
}
extern "C" __global__ void gather(int n, const int *idx, const float *src, float *dst, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { int k = idx[i]; dst[i] = (k >= 0 && k < m) ? src[k] : 0.0f; }
}
extern "C" __global__ void xorshift(int n, unsigned *state, unsigned *out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned s = state[i];
  for (int k = 0; k < rounds; k++) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; out[k * n + i] = s; }
  state[i] = s;
}
extern "C" __global__ void philox(int n, uint4 *out, unsigned k0, unsigned k1) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned c0 = i, c1 = 0, c2 = 0, c3 = 0;
#pragma unroll
  for (int r = 0; r < 10; r++) {
    unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  out[i] = make_uint4(c0, c1, c2, c3);
}
extern "C" __global__ void switcher(int n, const int *op, const float *a, const float *b, float *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i], r;
  switch (op[i]) {
    case 0: r = x + y; break;
    case 1: r = x - y; break;
    case 2: r = x * y; break;
    case 3: r = fmaxf(x, y); break;
    case 4: r = fminf(x, y); break;
    case 5: r = __sinf(x) * y; break;
    case 6: r = __cosf(y) + x; break;
    case 7: r = __expf(x - y); break;
    case 8: r = __log2f(fabsf(x) + 1.0f); break;
    default: r = 0;
  }
  c[i] = r;
}
extern "C" __global__ void bits(int n, const unsigned *a, int *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = a[i];
  o[i] = __popc(v) + __clz(v) * 3 + __ffs(v) + (int)__brev(v) + (int)__byte_perm(v, i, 0x3210 ^ 0x1111);
}
