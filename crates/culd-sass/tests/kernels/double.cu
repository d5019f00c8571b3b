// Double precision, complex numbers, 64-bit integers, small solvers.
extern "C" __global__ void daxpy(int n, double a, const double *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void dpoly(int n, const double *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  y[i] = ((((v * 0.1 + 0.2) * v - 0.3) * v + 0.4) * v - 0.5) * v + 0.6;
}
extern "C" __global__ void cmul(int n, const double2 *a, const double2 *b, double2 *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double2 x = a[i], y = b[i];
  c[i] = make_double2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
extern "C" __global__ void fft8(float2 *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 v[8];
#pragma unroll
  for (int k = 0; k < 8; k++) v[k] = x[k * n + i];
#pragma unroll
  for (int s = 4; s; s >>= 1)
#pragma unroll
    for (int k = 0; k < 8; k++) if (!(k & s)) {
      float2 a = v[k], b = v[k + s];
      v[k] = make_float2(a.x + b.x, a.y + b.y); v[k + s] = make_float2(a.x - b.x, a.y - b.y);
    }
#pragma unroll
  for (int k = 0; k < 8; k++) x[k * n + i] = v[k];
}
extern "C" __global__ void fft_stage(const float2 *in, float2 *out, int n, int p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, h = n / 2;
  if (i >= h) return;
  int k = i & (p - 1);
  float s, c; __sincosf(-3.14159265f * k / p, &s, &c);
  float2 a = in[i], b = in[i + h], t = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
  int j = ((i - k) << 1) + k;
  out[j] = make_float2(a.x + t.x, a.y + t.y);
  out[j + p] = make_float2(a.x - t.x, a.y - t.y);
}
extern "C" __global__ void collatz(const unsigned long long *s, int *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = s[i];
  int c = 0;
  while (v > 1 && c < 10000) { v = v & 1 ? 3 * v + 1 : v >> 1; c++; }
  steps[i] = c;
}
extern "C" __global__ void fnv1a(const unsigned char *d, const int *off, unsigned long long *h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = 14695981039346656037ull;
  for (int k = off[i]; k < off[i + 1]; k++) { x ^= d[k]; x *= 1099511628211ull; }
  h[i] = x;
}
extern "C" __global__ void mulhi64(const unsigned long long *a, const unsigned long long *b, ulonglong2 *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = make_ulonglong2(a[i] * b[i], __umul64hi(a[i], b[i]));
}
extern "C" __global__ void thomas(const double *a, const double *b, const double *c, double *d, double *w, int m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 1; k < m; k++) { double q = a[k * n + i] * b[(k - 1) * n + i]; w[k * n + i] = b[k * n + i] - q * c[(k - 1) * n + i]; d[k * n + i] -= q * d[(k - 1) * n + i]; }
  for (int k = m - 2; k >= 0; k--) d[k * n + i] = (d[k * n + i] - c[k * n + i] * d[(k + 1) * n + i]) * w[k * n + i];
}
extern "C" __global__ void cholesky4(float *a, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float m[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) m[i][j] = a[(i * 4 + j) * n + t];
#pragma unroll
  for (int j = 0; j < 4; j++) {
#pragma unroll
    for (int k = 0; k < j; k++) m[j][j] -= m[j][k] * m[j][k];
    float r = rsqrtf(m[j][j]);
    m[j][j] *= r;
#pragma unroll
    for (int i = j + 1; i < 4; i++) {
#pragma unroll
      for (int k = 0; k < j; k++) m[i][j] -= m[i][k] * m[j][k];
      m[i][j] *= r;
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j <= i; j++) a[(i * 4 + j) * n + t] = m[i][j];
}
extern "C" __global__ void kmeans_assign(const float *__restrict__ p, const float *__restrict__ c, int *lab, int n, int k, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 3e38f; int bi = 0;
  for (int j = 0; j < k; j++) {
    float s = 0;
    for (int q = 0; q < d; q++) { float z = p[q * n + i] - c[j * d + q]; s = fmaf(z, z, s); }
    if (s < best) { best = s; bi = j; }
  }
  lab[i] = bi;
}
extern "C" __global__ void floyd(int *d, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= n) return;
  int a = d[i * n + k] + d[k * n + j];
  if (a < d[i * n + j]) d[i * n + j] = a;
}
extern "C" __global__ void lcs_wave(const char *a, const char *b, int *h, int n, int m, int dg) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + max(0, dg - m + 1), j = dg - i;
  if (i >= n || j < 0 || j >= m) return;
  int up = i ? h[(i - 1) * m + j] : 0, lf = j ? h[i * m + j - 1] : 0, di = i && j ? h[(i - 1) * m + j - 1] : 0;
  h[i * m + j] = a[i] == b[j] ? di + 1 : max(up, lf);
}
extern "C" __global__ void ray_sphere(const float4 *sph, int ns, float4 *img, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float dx = (x - w * 0.5f), dy = (y - h * 0.5f), dz = h, il = rsqrtf(dx * dx + dy * dy + dz * dz);
  dx *= il; dy *= il; dz *= il;
  float tb = 1e30f; int hit = -1;
  for (int i = 0; i < ns; i++) {
    float4 s = sph[i];
    float b = dx * s.x + dy * s.y + dz * s.z, c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w, q = b * b - c;
    if (q > 0) { float t = b - q * rsqrtf(q); if (t > 0.001f && t < tb) { tb = t; hit = i; } }
  }
  img[y * w + x] = hit >= 0 ? make_float4(tb * dx, tb * dy, tb * dz, hit) : make_float4(0, 0, 0, -1);
}
extern "C" __global__ void local_sort(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v[8];
#pragma unroll
  for (int k = 0; k < 8; k++) v[k] = x[i * 8 + k];
#pragma unroll
  for (int a = 0; a < 8; a++)
#pragma unroll
    for (int b = 0; b < 7 - (a & 1); b += 2) { int p = b + (a & 1); if (p < 7) { int lo = min(v[p], v[p + 1]); v[p + 1] = max(v[p], v[p + 1]); v[p] = lo; } }
#pragma unroll
  for (int k = 0; k < 8; k++) x[i * 8 + k] = v[k];
}
extern "C" __global__ void local_array(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, t[16];
  if (i >= n) return;
  for (int k = 0; k < 16; k++) t[k] = x[k * n + i];
  int s = 0;
  for (int k = 0; k < 16; k++) s += t[(x[i] + k * 5) & 15] * k;
  y[i] = s;
}
