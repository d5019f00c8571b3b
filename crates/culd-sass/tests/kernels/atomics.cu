// Atomics, histograms, locks, graph traversal, fences.
extern "C" __global__ void hist_global(const unsigned char *x, unsigned *h, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[x[i]], 1u);
}
extern "C" __global__ void hist_shared(const unsigned char *x, unsigned *h, int n) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (s[i]) atomicAdd(&h[i], s[i]);
}
extern "C" __global__ void max_float_cas(const float *x, float *m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int *p = (int *)m, old = *p, seen;
  do { seen = old; if (__int_as_float(seen) >= x[i]) break; old = atomicCAS(p, seen, __float_as_int(x[i])); } while (old != seen);
}
extern "C" __global__ void bfs_step(const int *rp, const int *ci, int *dist, const int *front, int nf, int *next, int *nn, int level) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= nf) return;
  int u = front[t];
  for (int e = rp[u]; e < rp[u + 1]; e++) { int v = ci[e]; if (atomicCAS(&dist[v], -1, level) == -1) next[atomicAdd(nn, 1)] = v; }
}
extern "C" __global__ void sssp_relax(const int *src, const int *dst, const int *w, int *dist, int m, int *changed) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int d = dist[src[e]] + w[e];
  if (d < dist[dst[e]]) { atomicMin(&dist[dst[e]], d); *changed = 1; }
}
extern "C" __global__ void union_find(int *parent, const int2 *edges, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int a = edges[e].x, b = edges[e].y;
  for (;;) {
    while (parent[a] != a) a = parent[a];
    while (parent[b] != b) b = parent[b];
    if (a == b) break;
    if (a < b) { int t = a; a = b; b = t; }
    int old = atomicCAS(&parent[a], a, b);
    if (old == a) break;
    a = old;
  }
}
extern "C" __global__ void hash_insert(unsigned long long *table, const unsigned *keys, const unsigned *vals, int n, unsigned mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned h = keys[i] * 2654435761u;
  unsigned long long kv = ((unsigned long long)keys[i] << 32) | vals[i];
  for (;;) {
    unsigned long long old = atomicCAS(&table[h & mask], ~0ull, kv);
    if (old == ~0ull || (old >> 32) == keys[i]) break;
    h++;
  }
}
extern "C" __global__ void spin_add(int *lock, float *acc, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || (threadIdx.x & 31)) return;
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
  __threadfence();
  *(volatile float *)acc += x[i];
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" __global__ void publish(volatile int *flag, float *data, const float *x) {
  data[threadIdx.x] = x[threadIdx.x] * 2;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *flag = 1;
}
extern "C" __global__ void fence_block(int *a, int *b, int n) {
  int i = threadIdx.x;
  a[i] = i;
  __threadfence_block();
  if (i < n) b[i] = a[(i + 1) % 32];
  __threadfence_block();
  b[i + n] = a[i ^ 1];
}
extern "C" __global__ void ring(int *buf, unsigned *head, const unsigned *tail, int cap, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned h = atomicAdd(head, 1u);
  if (h - *(volatile const unsigned *)tail < (unsigned)cap) { buf[h & (cap - 1)] = x[i]; __threadfence(); }
  else atomicSub(head, 1u);
}
extern "C" __global__ void scatter_add(const int *idx, const float *v, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out + idx[i], v[i]);
}
extern "C" __global__ void scatter_add_double(const int *idx, const double *v, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out + idx[i], v[i] * 0.5);
}
extern "C" __global__ void atomics64(unsigned long long *a, long long *b, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long old = atomicAdd(a, (unsigned long long)x[i]);
  atomicMax(b, (long long)(old ^ i));
  atomicOr(a + 1, 1ull << (x[i] & 63));
  atomicXor((unsigned *)(a + 2), (unsigned)x[i]);
}
extern "C" __global__ void warp_aggregate(const int *key, int *bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = key[i];
  unsigned m = __match_any_sync(__activemask(), k);
  int leader = __ffs(m) - 1;
  if ((threadIdx.x & 31) == leader) atomicAdd(bins + k, __popc(m));
}
extern "C" __global__ void vote(const float *x, int *any, int *all, int n, float t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool p = i < n && x[i] > t;
  if (__any_sync(~0u, p)) any[i >> 5] = 1;
  if (__all_sync(~0u, p)) all[i >> 5] = 1;
  if (__syncthreads_or(p)) any[gridDim.x] = 1;
}
extern "C" __global__ void monte_carlo_pi(unsigned *count, int iters, unsigned seed) {
  unsigned s = seed ^ (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u;
  int c = 0;
  for (int k = 0; k < iters; k++) {
    s = s * 1664525u + 1013904223u; float x = (s >> 8) * 5.9604645e-8f;
    s = s * 1664525u + 1013904223u; float y = (s >> 8) * 5.9604645e-8f;
    c += x * x + y * y < 1.0f;
  }
  atomicAdd(count, (unsigned)c);
}
