// Matrix products, transposes, sparse products.
extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int n, int k, int m) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n || q >= m) return;
  float s = 0;
  for (int i = 0; i < k; i++) s += a[r * k + i] * b[i * m + q];
  c[r * m + q] = s;
}
extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int n) {
  __shared__ float A[16][16], B[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, q = blockIdx.x * 16 + tx;
  float s = 0;
  for (int t = 0; t < n / 16; t++) {
    A[ty][tx] = a[r * n + t * 16 + tx];
    B[ty][tx] = b[(t * 16 + ty) * n + q];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) s += A[ty][i] * B[i][tx];
    __syncthreads();
  }
  c[r * n + q] = s;
}
extern "C" __global__ void matmul_tiled_guard(const float *a, const float *b, float *c, int n, int k, int m) {
  __shared__ float A[16][17], B[16][17];
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, q = blockIdx.x * 16 + tx;
  float s = 0;
  for (int t = 0; t < (k + 15) / 16; t++) {
    A[ty][tx] = (r < n && t * 16 + tx < k) ? a[r * k + t * 16 + tx] : 0.f;
    B[ty][tx] = (t * 16 + ty < k && q < m) ? b[(t * 16 + ty) * m + q] : 0.f;
    __syncthreads();
    for (int i = 0; i < 16; i++) s += A[ty][i] * B[i][tx];
    __syncthreads();
  }
  if (r < n && q < m) c[r * m + q] = s;
}
extern "C" __global__ void sgemm_4x4(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n, float alpha, float beta) {
  __shared__ float A[16][64], B[16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16, r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
#pragma unroll
    for (int i = 0; i < 4; i++) { A[t % 16][t / 16 + 16 * i] = a[(r0 + t / 16 + 16 * i) * n + k0 + t % 16]; B[t / 64 + 4 * i][t % 64] = b[(k0 + t / 64 + 4 * i) * n + c0 + t % 64]; }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; k++) {
      float x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; i++) { x[i] = A[k][ty * 4 + i]; y[i] = B[k][tx * 4 + i]; }
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) acc[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) { float *p = c + (r0 + ty * 4 + i) * n + c0 + tx * 4 + j; *p = alpha * acc[i][j] + beta * *p; }
}
extern "C" __global__ void gemv(const float *a, const float *x, float *y, int rows, int cols) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float s = 0;
  for (int c = lane; c < cols; c += 32) s += a[(size_t)r * cols + c] * x[c];
  for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
  if (!lane) y[r] = s;
}
extern "C" __global__ void dgemm_tiled(const double *a, const double *b, double *c, int n) {
  __shared__ double A[16][16], B[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, q = blockIdx.x * 16 + tx;
  double s = 0;
  for (int t = 0; t < n / 16; t++) {
    A[ty][tx] = a[r * n + t * 16 + tx];
    B[ty][tx] = b[(t * 16 + ty) * n + q];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) s += A[ty][i] * B[i][tx];
    __syncthreads();
  }
  c[r * n + q] = s;
}
extern "C" __global__ void transpose(const float *in, float *out, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) out[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void spmv_csr(const int *rp, const int *ci, const float *v, const float *x, float *y, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float s = 0;
  for (int k = rp[r]; k < rp[r + 1]; k++) s += v[k] * x[ci[k]];
  y[r] = s;
}
extern "C" __global__ void spmv_ell(const int *ci, const double *v, const double *x, double *y, int n, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  double s = 0;
  for (int k = 0; k < width; k++) { int c = ci[k * n + r]; if (c >= 0) s += v[k * n + r] * x[c]; }
  y[r] = s;
}
extern "C" __global__ void outer(const float *a, const float *b, float *c, int n, int m) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m) c[i * m + j] += a[i] * b[j];
}
extern "C" __global__ void batched_3x3(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x[9], y[9];
#pragma unroll
  for (int k = 0; k < 9; k++) { x[k] = a[k * n + i]; y[k] = b[k * n + i]; }
#pragma unroll
  for (int r = 0; r < 3; r++)
#pragma unroll
    for (int q = 0; q < 3; q++) c[(r * 3 + q) * n + i] = x[r * 3] * y[q] + x[r * 3 + 1] * y[3 + q] + x[r * 3 + 2] * y[6 + q];
}
