// Stencils, convolutions, textures, particle codes.
__constant__ float taps[32];
extern "C" __global__ void stencil1d(const float *in, float *out, int n) {
  __shared__ float s[256 + 8];
  int g = blockIdx.x * 256 + threadIdx.x, l = threadIdx.x + 4;
  s[l] = g < n ? in[g] : 0;
  if (threadIdx.x < 4) { s[l - 4] = g >= 4 ? in[g - 4] : 0; s[l + 256] = g + 256 < n ? in[g + 256] : 0; }
  __syncthreads();
  float r = 0;
#pragma unroll
  for (int o = -4; o <= 4; o++) r += s[l + o] * taps[o + 4];
  if (g < n) out[g] = r;
}
extern "C" __global__ void jacobi2d(const float *in, float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  int i = y * w + x;
  out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}
extern "C" __global__ void heat3d(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz, float c) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int p = nx * ny, i = y * nx + x + p;
  float dn = in[i - p], ce = in[i];
  for (int z = 1; z < nz - 1; z++, i += p) {
    float up = in[i + p];
    out[i] = ce + c * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + up + dn - 6 * ce);
    dn = ce; ce = up;
  }
}
extern "C" __global__ void conv2d_shared(const float *in, const float *k, float *out, int w, int h) {
  __shared__ float t[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  for (int j = ty; j < 18; j += 16) for (int i = tx; i < 18; i += 16) {
    int gx = blockIdx.x * 16 + i - 1, gy = blockIdx.y * 16 + j - 1;
    t[j][i] = gx >= 0 && gy >= 0 && gx < w && gy < h ? in[gy * w + gx] : 0;
  }
  __syncthreads();
  if (x >= w || y >= h) return;
  float s = 0;
#pragma unroll
  for (int j = 0; j < 3; j++)
#pragma unroll
    for (int i = 0; i < 3; i++) s += t[ty + j][tx + i] * k[j * 3 + i];
  out[y * w + x] = s;
}
extern "C" __global__ void conv1d_direct(const float *__restrict__ in, const float *__restrict__ w, float *__restrict__ out, int n, int cin, int kw) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y;
  if (i >= n) return;
  float s = 0;
  for (int c = 0; c < cin; c++) for (int k = 0; k < kw; k++) { int j = i + k - kw / 2; if (j >= 0 && j < n) s += in[c * n + j] * w[(o * cin + c) * kw + k]; }
  out[o * n + i] = s;
}
extern "C" __global__ void sobel(const unsigned char *in, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  const unsigned char *p = in + y * w + x;
  int gx = -p[-w - 1] - 2 * p[-1] - p[w - 1] + p[-w + 1] + 2 * p[1] + p[w + 1];
  int gy = -p[-w - 1] - 2 * p[-w] - p[-w + 1] + p[w - 1] + 2 * p[w] + p[w + 1];
  out[y * w + x] = min(255, abs(gx) + abs(gy));
}
extern "C" __global__ void tex_bilinear(cudaTextureObject_t t, float *out, int w, int h, float s) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = tex2D<float>(t, x * s, y * s);
}
extern "C" __global__ void tex_blur(cudaTextureObject_t t, float4 *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float4 s = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int j = -1; j <= 1; j++) { float4 v = tex2D<float4>(t, x + 0.5f, y + j + 0.5f); s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w; }
  out[y * w + x] = s;
}
extern "C" __global__ void surf_copy(cudaSurfaceObject_t a, cudaSurfaceObject_t b, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float v; surf2Dread(&v, a, x * 4, y);
  surf2Dwrite(v * 2.0f, b, x * 4, y);
}
extern "C" __global__ void nbody(const float4 *__restrict__ pos, float4 *__restrict__ acc, int n, float eps) {
  __shared__ float4 s[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float4 p = pos[i];
  float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += 128) {
    s[threadIdx.x] = pos[t + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 128; j++) {
      float dx = s[j].x - p.x, dy = s[j].y - p.y, dz = s[j].z - p.z, d = dx * dx + dy * dy + dz * dz + eps, q = rsqrtf(d), f = s[j].w * q * q * q;
      ax += dx * f; ay += dy * f; az += dz * f;
    }
    __syncthreads();
  }
  acc[i] = make_float4(ax, ay, az, 0);
}
extern "C" __global__ void lbm_d2q9(const float *__restrict__ f, float *__restrict__ g, int w, int h, float om) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = w * h;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float wt[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
  float v[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
  for (int k = 0; k < 9; k++) { v[k] = f[k * n + (y - cy[k]) * w + x - cx[k]]; rho += v[k]; ux += cx[k] * v[k]; uy += cy[k] * v[k]; }
  float ir = __frcp_rn(rho); ux *= ir; uy *= ir;
#pragma unroll
  for (int k = 0; k < 9; k++) { float cu = 3 * (cx[k] * ux + cy[k] * uy); g[k * n + y * w + x] = v[k] + om * (wt[k] * rho * (1 + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy)) - v[k]); }
}
extern "C" __global__ void wave_double(const double *p, const double *q, double *r, int w, int h, double c) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  int i = y * w + x;
  r[i] = 2 * p[i] - q[i] + c * (p[i - 1] + p[i + 1] + p[i - w] + p[i + w] - 4 * p[i]);
}
extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int c = 0;
  for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) if (i || j) {
    int xx = x + i, yy = y + j;
    xx = xx < 0 ? w - 1 : xx == w ? 0 : xx; yy = yy < 0 ? h - 1 : yy == h ? 0 : yy;
    c += in[yy * w + xx];
  }
  out[y * w + x] = c == 3 || (c == 2 && in[y * w + x]);
}
