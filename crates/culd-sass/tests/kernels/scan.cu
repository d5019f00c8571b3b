// Prefix sums, compaction, sorting.
extern "C" __global__ void scan_hillis(const int *in, int *out, int n) {
  __shared__ int s[2][256];
  int t = threadIdx.x, p = 0;
  s[0][t] = t < n ? in[blockIdx.x * 256 + t] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    s[p ^ 1][t] = t >= d ? s[p][t] + s[p][t - d] : s[p][t];
    p ^= 1;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[p][t];
}
extern "C" __global__ void scan_blelloch(const float *in, float *out) {
  __shared__ float s[512];
  int t = threadIdx.x, off = 1;
  s[2 * t] = in[2 * t]; s[2 * t + 1] = in[2 * t + 1];
  for (int d = 256; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) { int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1; s[b] += s[a]; }
    off *= 2;
  }
  if (t == 0) s[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
    off >>= 1;
    __syncthreads();
    if (t < d) { int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1; float x = s[a]; s[a] = s[b]; s[b] += x; }
  }
  __syncthreads();
  out[2 * t] = s[2 * t]; out[2 * t + 1] = s[2 * t + 1];
}
extern "C" __global__ void scan_warp(const int *in, int *out, int *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  int v = i < n ? in[i] : 0;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) { int u = __shfl_up_sync(~0u, v, d); if (lane >= d) v += u; }
  __shared__ int s[32];
  if (lane == 31) s[w] = v;
  __syncthreads();
  if (w == 0) {
    int x = s[lane];
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) { int u = __shfl_up_sync(~0u, x, d); if (lane >= d) x += u; }
    s[lane] = x;
  }
  __syncthreads();
  if (w) v += s[w - 1];
  if (i < n) out[i] = v;
  if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = v;
}
extern "C" __global__ void add_offsets(int *x, const int *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n) x[i] += sums[blockIdx.x - 1];
}
extern "C" __global__ void compact(const int *in, int *out, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  bool keep = i < n && in[i] != 0;
  unsigned m = __ballot_sync(~0u, keep);
  int base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(m));
  base = __shfl_sync(~0u, base, 0);
  if (keep) out[base + __popc(m & ((1u << lane) - 1))] = in[i];
}
extern "C" __global__ void bitonic_shared(int *x) {
  __shared__ int s[512];
  int t = threadIdx.x;
  s[t] = x[t]; s[t + 256] = x[t + 256];
  for (int k = 2; k <= 512; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      int i = 2 * t - (t & (j - 1)), p = i + j;
      bool up = (i & k) == 0;
      int a = s[i], b = s[p];
      if ((a > b) == up) { s[i] = b; s[p] = a; }
    }
  __syncthreads();
  x[t] = s[t]; x[t + 256] = s[t + 256];
}
extern "C" __global__ void bitonic_step(float *x, int j, int k) {
  unsigned i = threadIdx.x + blockDim.x * blockIdx.x, p = i ^ j;
  if (p > i) {
    float a = x[i], b = x[p];
    if (((i & k) == 0 && a > b) || ((i & k) != 0 && a < b)) { x[i] = b; x[p] = a; }
  }
}
extern "C" __global__ void radix_count(const unsigned *keys, unsigned *counts, int n, int shift) {
  __shared__ unsigned h[16];
  if (threadIdx.x < 16) h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&h[(keys[i] >> shift) & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = h[threadIdx.x];
}
extern "C" __global__ void binary_search(const int *hay, int m, const int *q, int *pos, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int key = q[i], lo = 0, hi = m;
  while (lo < hi) { int mid = (lo + hi) >> 1; if (hay[mid] < key) lo = mid + 1; else hi = mid; }
  pos[i] = lo;
}
extern "C" __global__ void merge_path(const int *a, int na, const int *b, int nb, int *c) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= na + nb) return;
  int lo = max(0, d - nb), hi = min(d, na);
  while (lo < hi) { int m = (lo + hi) / 2; if (a[m] <= b[d - 1 - m]) lo = m + 1; else hi = m; }
  int i = lo, j = d - lo;
  c[d] = (j >= nb || (i < na && a[i] <= b[j])) ? a[i] : b[j];
}
