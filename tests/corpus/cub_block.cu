// Block- and warp-wide primitives of CUB in kernels of one primitive each. parts: 3
#include <cub/cub.cuh>
using u64 = unsigned long long;
#if PART == 0
#define ALL(K) K(int, 128, 4) K(float, 256, 3) K(double, 64, 7) K(u64, 128, 2)
#elif PART == 1
#define ALL(K) K(short, 64, 5) K(float, 128, 8) K(int, 32, 1) K(double, 256, 2)
#else
#define ALL(K) K(unsigned char, 128, 4) K(int, 512, 2) K(long long, 64, 3) K(unsigned, 1024, 1)
#endif
template <class T, int B, int N> __global__ void reduce(const T *in, T *out) {
  using P = cub::BlockReduce<T, B>; __shared__ typename P::TempStorage s; T x[N];
  cub::LoadDirectBlocked(threadIdx.x, in + blockIdx.x * B * N, x);
  T r = P(s).Sum(x); if (threadIdx.x == 0) out[blockIdx.x] = r;
}
template <class T, int B, int N> __global__ void reduce_raking(const T *in, T *out, int n) {
  using P = cub::BlockReduce<T, B, cub::BLOCK_REDUCE_RAKING>; __shared__ typename P::TempStorage s;
  T x = in[blockIdx.x * B + threadIdx.x]; T r = P(s).Reduce(x, cuda::maximum<>{}, n); if (threadIdx.x == 0) out[blockIdx.x] = r;
}
template <class T, int B, int N> __global__ void scan(const T *in, T *out) {
  using P = cub::BlockScan<T, B>; __shared__ typename P::TempStorage s; T x[N];
  cub::LoadDirectStriped<B>(threadIdx.x, in + blockIdx.x * B * N, x); T total;
  P(s).InclusiveSum(x, x, total); cub::StoreDirectStriped<B>(threadIdx.x, out + blockIdx.x * B * N, x); if (threadIdx.x == 1) out[0] = total;
}
template <class T, int B, int N> __global__ void scan_raking(const T *in, T *out) {
  using P = cub::BlockScan<T, B, cub::BLOCK_SCAN_RAKING_MEMOIZE>; __shared__ typename P::TempStorage s;
  T x = in[blockIdx.x * B + threadIdx.x]; P(s).ExclusiveSum(x, x); out[threadIdx.x] = x;
}
template <class T, int B, int N> __global__ void sort(T *a) {
  using P = cub::BlockRadixSort<T, B, N>; __shared__ typename P::TempStorage s; T x[N];
  cub::LoadDirectBlocked(threadIdx.x, a, x); P(s).Sort(x); cub::StoreDirectBlocked(threadIdx.x, a, x);
}
template <class T, int B, int N> __global__ void merge(T *a, int n) {
  using P = cub::BlockMergeSort<T, B, N>; __shared__ typename P::TempStorage s; T x[N];
  cub::LoadDirectBlocked(threadIdx.x, a, x); P(s).Sort(x, [](T a, T b) { return a < b; }, n, T(100)); cub::StoreDirectBlocked(threadIdx.x, a, x);
}
template <class T, int B, int N> __global__ void exchange(T *a) {
  using P = cub::BlockExchange<T, B, N, true>; __shared__ typename P::TempStorage s; T x[N];
  cub::LoadDirectBlocked(threadIdx.x, a, x); P(s).BlockedToStriped(x); __syncthreads(); x[0] += 1; P(s).StripedToBlocked(x); cub::StoreDirectBlocked(threadIdx.x, a, x);
}
template <class T, int B, int N> __global__ void load_store(const T *in, T *out, int n) {
  using L = cub::BlockLoad<T, B, N, cub::BLOCK_LOAD_WARP_TRANSPOSE>; using S = cub::BlockStore<T, B, N, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union { typename L::TempStorage l; typename S::TempStorage s; } t; T x[N];
  L(t.l).Load(in + blockIdx.x * B * N, x, n, T(0)); __syncthreads(); for (int i = 0; i < N; i++) x[i] = x[i] * T(3);
  S(t.s).Store(out + blockIdx.x * B * N, x, n);
}
template <class T, int B, int N> __global__ void adjacent(const T *in, T *out, int *f) {
  using P = cub::BlockAdjacentDifference<T, B>; using D = cub::BlockDiscontinuity<T, B>; __shared__ union { typename P::TempStorage p; typename D::TempStorage d; } s; T x[N]; int h[N];
  cub::LoadDirectBlockedVectorized(threadIdx.x, const_cast<T *>(in), x); D(s.d).FlagHeads(h, x, cuda::std::not_equal_to<>{}); __syncthreads();
  P(s.p).SubtractLeft(x, x, cuda::std::minus<>{}); cub::StoreDirectBlocked(threadIdx.x, out, x); cub::StoreDirectBlocked(threadIdx.x, f, h);
}
template <class T, int B, int N> __global__ void histogram(const unsigned char *in, unsigned *out) {
  using P = cub::BlockHistogram<unsigned char, B, N, 256, cub::BLOCK_HISTO_ATOMIC>; __shared__ typename P::TempStorage s; __shared__ unsigned h[256]; unsigned char x[N];
  cub::LoadDirectBlocked(threadIdx.x, in, x); P(s).Histogram(x, h); __syncthreads(); for (int i = threadIdx.x; i < 256; i += B) atomicAdd(out + i, h[i]);
}
template <class T, int B, int N> __global__ void warp_reduce(const T *in, T *out, int n) {
  using P = cub::WarpReduce<T>; __shared__ typename P::TempStorage s[B / 32]; T x = in[threadIdx.x];
  T r = P(s[threadIdx.x / 32]).Sum(x, n); if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = r;
}
template <class T, int B, int N> __global__ void warp_scan(const T *in, T *out) {
  using P = cub::WarpScan<T, 16>; __shared__ typename P::TempStorage s[B / 16]; T x = in[threadIdx.x], all;
  P(s[threadIdx.x / 16]).InclusiveSum(x, x, all); out[threadIdx.x] = x + all;
}
template <class T, int B, int N> __global__ void warp_sort(T *a) {
  using P = cub::WarpMergeSort<T, N, 32>; __shared__ typename P::TempStorage s[B / 32]; T x[N];
  cub::LoadDirectBlocked(threadIdx.x, a, x); P(s[threadIdx.x / 32]).Sort(x, [](T a, T b) { return a > b; }); cub::StoreDirectBlocked(threadIdx.x, a, x);
}
template <class T, int B, int N> __global__ void run_length(const T *in, T *out, unsigned *len) {
  using P = cub::BlockRunLengthDecode<T, B, N, N>; __shared__ typename P::TempStorage s; T x[N]; unsigned l[N], total;
  for (int i = 0; i < N; i++) { x[i] = in[threadIdx.x * N + i]; l[i] = len[threadIdx.x * N + i]; } P d(s, x, l, total);
  for (unsigned w = 0; w < total; w += B * N) { T y[N]; d.RunLengthDecode(y, w); cub::StoreDirectBlocked(threadIdx.x, out + w, y, total - w); }
}
#define ONE(T, B, N) template __global__ void reduce<T, B, N>(const T *, T *); template __global__ void reduce_raking<T, B, N>(const T *, T *, int); \
 template __global__ void scan<T, B, N>(const T *, T *); template __global__ void scan_raking<T, B, N>(const T *, T *); template __global__ void sort<T, B, N>(T *); \
 template __global__ void merge<T, B, N>(T *, int); template __global__ void exchange<T, B, N>(T *); template __global__ void load_store<T, B, N>(const T *, T *, int); \
 template __global__ void adjacent<T, B, N>(const T *, T *, int *); template __global__ void histogram<T, B, N>(const unsigned char *, unsigned *); \
 template __global__ void warp_reduce<T, B, N>(const T *, T *, int); template __global__ void warp_scan<T, B, N>(const T *, T *); template __global__ void warp_sort<T, B, N>(T *); \
 template __global__ void run_length<T, B, N>(const T *, T *, unsigned *);
ALL(ONE)
