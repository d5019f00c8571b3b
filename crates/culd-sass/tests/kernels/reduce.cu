// Reductions, norms, softmax: shared memory trees, warp shuffles, last-block patterns.
extern "C" __global__ void reduce_shared(const float *x, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
  float v = 0;
  if (i < n) v = x[i];
  if (i + blockDim.x < n) v += x[i + blockDim.x];
  s[t] = v;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void reduce_shfl(const float *x, float *out, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  __shared__ float s[32];
  if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
extern "C" __global__ void reduce_last_block(const float *x, volatile float *part, float *out, unsigned *count, int n) {
  __shared__ float s[256];
  __shared__ bool last;
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += x[i];
  s[t] = v;
  __syncthreads();
  for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    float r = 0;
    for (int i = 0; i < gridDim.x; i++) r += part[i];
    *out = r; *count = 0;
  }
}
extern "C" __global__ void reduce_double(const double *x, double *out, int n) {
  __shared__ double s[128];
  int t = threadIdx.x;
  double v = 0;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) v += x[i] * x[i];
  s[t] = v;
  __syncthreads();
  for (int k = 64; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (!t) atomicAdd(out, s[0]);
}
extern "C" __global__ void argmax(const float *x, int *idx, float *val, int n) {
  float best = -3.0e38f; int bi = -1;
  for (int i = threadIdx.x; i < n; i += blockDim.x) if (x[i] > best) { best = x[i]; bi = i; }
  for (int o = 16; o; o >>= 1) {
    float b = __shfl_xor_sync(~0u, best, o); int k = __shfl_xor_sync(~0u, bi, o);
    if (b > best || (b == best && k < bi)) { best = b; bi = k; }
  }
  __shared__ float sv[32]; __shared__ int si[32];
  if ((threadIdx.x & 31) == 0) { sv[threadIdx.x / 32] = best; si[threadIdx.x / 32] = bi; }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; w++) if (sv[w] > best) { best = sv[w]; bi = si[w]; }
    *idx = bi; *val = best;
  }
}
extern "C" __global__ void softmax_row(const float *__restrict__ x, float *__restrict__ y, int cols) {
  __shared__ float red[32];
  const float *r = x + (size_t)blockIdx.x * cols;
  float *o = y + (size_t)blockIdx.x * cols;
  float m = -3.0e38f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, r[c]);
  for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = m;
  __syncthreads();
  m = red[threadIdx.x % 32];
  for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
  __syncthreads();
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) { float e = __expf(r[c] - m); o[c] = e; s += e; }
  for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = s;
  __syncthreads();
  s = red[threadIdx.x % 32];
  for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
  float inv = __fdividef(1.0f, s);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) o[c] *= inv;
}
extern "C" __global__ void layernorm(const float *__restrict__ x, const float *__restrict__ g, const float *__restrict__ b, float *__restrict__ y, int d) {
  __shared__ float sm[2];
  const float *r = x + (size_t)blockIdx.x * d;
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < d; i += 32) { float v = r[i]; s += v; q += v * v; }
#pragma unroll
  for (int k = 16; k; k >>= 1) { s += __shfl_xor_sync(~0u, s, k); q += __shfl_xor_sync(~0u, q, k); }
  if (threadIdx.x == 0) { float mu = s * __frcp_rn((float)d); sm[0] = mu; sm[1] = rsqrtf(q / d - mu * mu + 1e-5f); }
  __syncthreads();
  for (int i = threadIdx.x; i < d; i += 32) y[(size_t)blockIdx.x * d + i] = (r[i] - sm[0]) * sm[1] * g[i] + b[i];
}
extern "C" __global__ void rmsnorm4(const float4 *__restrict__ x, const float4 *__restrict__ w, float4 *__restrict__ y, int d4) {
  const float4 *r = x + (size_t)blockIdx.x * d4;
  float q = 0;
  for (int i = threadIdx.x; i < d4; i += blockDim.x) { float4 v = r[i]; q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }
#pragma unroll
  for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
  __shared__ float s[8];
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
  __syncthreads();
  q = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
  float inv = rsqrtf(q * 0.25f + 1e-6f);
  for (int i = threadIdx.x; i < d4; i += blockDim.x) {
    float4 v = r[i], u = w[i];
    y[(size_t)blockIdx.x * d4 + i] = make_float4(v.x * inv * u.x, v.y * inv * u.y, v.z * inv * u.z, v.w * inv * u.w);
  }
}
extern "C" __global__ void minmax_redux(const int *x, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? x[i] : 0;
  int mn = __reduce_min_sync(~0u, v), mx = __reduce_max_sync(~0u, v), sm = __reduce_add_sync(~0u, v);
  if ((threadIdx.x & 31) == 0) { atomicMin(out, mn); atomicMax(out + 1, mx); atomicAdd(out + 2, sm); }
}
extern "C" __global__ void dot_product(const float *a, const float *b, float *o, int n) {
  __shared__ float s[256];
  float v = 0;
  for (int i = threadIdx.x + blockIdx.x * 256; i < n; i += 256 * gridDim.x) v = fmaf(a[i], b[i], v);
  s[threadIdx.x] = v;
  __syncthreads();
#pragma unroll
  for (int k = 128; k; k >>= 1) { if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; __syncthreads(); }
  if (threadIdx.x == 0) o[blockIdx.x] = s[0];
}
extern "C" __global__ void col_sums(const float *m, float *o, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float s = 0;
#pragma unroll 4
  for (int r = 0; r < rows; r++) s += m[(size_t)r * cols + c];
  o[c] = s;
}
extern "C" __global__ void count_if(const int *x, int n, int lo, int hi, int *cnt) {
  int c = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c += x[i] >= lo && x[i] < hi;
  unsigned b = __syncthreads_count(c > 0);
  if (threadIdx.x == 0 && b) atomicAdd(cnt, (int)b);
}
