// libcu++: atomics of every scope and order, barriers, pipelines, copies, semaphores, complex numbers, mdspan.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/variant>
#include <cooperative_groups.h>
template <class T, cuda::thread_scope S> __global__ void add(T *p, T *o) { cuda::atomic_ref<T, S> a(*p); o[threadIdx.x] = a.fetch_add(T(threadIdx.x), cuda::memory_order_relaxed); }
template <class T, cuda::thread_scope S> __global__ void add_sc(T *p) { cuda::atomic_ref<T, S> a(*p); a.fetch_add(T(1)); }
template <class T, cuda::thread_scope S> __global__ void exchange(T *p, T *o) { cuda::atomic_ref<T, S> a(p[blockIdx.x]); o[threadIdx.x] = a.exchange(o[threadIdx.x], cuda::memory_order_acq_rel); }
template <class T, cuda::thread_scope S> __global__ void maximum(T *p, const T *v) { cuda::atomic_ref<T, S> a(*p); T x = v[threadIdx.x], y = a.load(cuda::memory_order_relaxed); while (y < x && !a.compare_exchange_weak(y, x, cuda::memory_order_release, cuda::memory_order_relaxed)) {} }
template <class T, cuda::thread_scope S> __global__ void flag(T *p, T *d, T *o) { cuda::atomic_ref<T, S> a(*p); if (threadIdx.x == 0) { d[0] = 7; a.store(T(1), cuda::memory_order_release); } else { while (a.load(cuda::memory_order_acquire) == T(0)) {} o[threadIdx.x] = d[0]; } }
template <class T, cuda::thread_scope S> __global__ void spin(T *p, T *d) { __shared__ int won; if (threadIdx.x == 0) { cuda::atomic_ref<T, S> a(*p); T z = 0; while (!a.compare_exchange_strong(z, T(1), cuda::memory_order_acquire)) z = 0; d[0] += 1; a.store(0, cuda::memory_order_release); won = 1; } __syncthreads(); d[threadIdx.x + 1] = won; }
#define ONE(T, S) template __global__ void add<T, cuda::S>(T *, T *); template __global__ void add_sc<T, cuda::S>(T *); template __global__ void exchange<T, cuda::S>(T *, T *); template __global__ void maximum<T, cuda::S>(T *, const T *); template __global__ void flag<T, cuda::S>(T *, T *, T *); template __global__ void spin<T, cuda::S>(T *, T *);
ONE(int, thread_scope_device) ONE(unsigned long long, thread_scope_system) ONE(unsigned, thread_scope_block) ONE(float, thread_scope_device)
template <class T, int D> __global__ void pipeline(const T *a, T *o, int n) { __shared__ T s[D][128]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, D> st; auto b = cooperative_groups::this_thread_block(); auto p = cuda::make_pipeline(b, &st);
 T acc = 0; for (int c = 0, f = 0; c < n; c++) { for (; f < n && f < c + D; f++) { p.producer_acquire(); cuda::memcpy_async(b, s[f % D], a + f * 128, cuda::aligned_size_t<16>(sizeof(T) * 128), p); p.producer_commit(); } p.consumer_wait(); acc += s[c % D][127 - threadIdx.x]; p.consumer_release(); } o[threadIdx.x] = acc; }
template <class T, int D> __global__ void bar(const T *a, T *o, int n) { __shared__ T s[128]; __shared__ cuda::barrier<cuda::thread_scope_block> b; if (threadIdx.x == 0) init(&b, blockDim.x); __syncthreads(); for (int i = 0; i < n; i++) { cuda::memcpy_async(s + threadIdx.x, a + i * 128 + threadIdx.x, sizeof(T), b); b.arrive_and_wait(); o[i] += s[(threadIdx.x + D) & 127]; b.arrive_and_wait(); } }
template <class T, int D> __global__ void thread_pipe(const T *a, T *o, int n) { __shared__ T s[D][128]; auto p = cuda::make_pipeline(); for (int i = 0; i < n; i++) { p.producer_acquire(); cuda::memcpy_async(&s[i % D][threadIdx.x], a + i * 128 + threadIdx.x, sizeof(T), p); p.producer_commit(); if (i >= D - 1) { cuda::pipeline_consumer_wait_prior<D - 1>(p); o[i] += s[(i + 1) % D][threadIdx.x]; p.consumer_release(); } } }
template __global__ void pipeline<float, 2>(const float *, float *, int); template __global__ void pipeline<double, 3>(const double *, double *, int); template __global__ void pipeline<int, 4>(const int *, int *, int);
template __global__ void bar<float, 1>(const float *, float *, int); template __global__ void bar<double, 5>(const double *, double *, int); template __global__ void thread_pipe<float, 2>(const float *, float *, int); template __global__ void thread_pipe<double, 4>(const double *, double *, int);
__global__ void sem(int *o) { __shared__ cuda::counting_semaphore<cuda::thread_scope_block, 4> s; if (threadIdx.x == 0) new (&s) cuda::counting_semaphore<cuda::thread_scope_block, 4>(2); __syncthreads(); s.acquire(); o[threadIdx.x]++; s.release(); }
__global__ void latch(int *o) { __shared__ alignas(16) char raw[64]; auto &l = *reinterpret_cast<cuda::latch<cuda::thread_scope_block> *>(raw); if (threadIdx.x == 0) new (&l) cuda::latch<cuda::thread_scope_block>(blockDim.x); __syncthreads(); o[threadIdx.x] = 1; l.arrive_and_wait(); o[threadIdx.x + 99] = o[threadIdx.x ^ 1]; }
template <class T> __global__ void cplx(cuda::std::complex<T> *a, int n) { int i = threadIdx.x; if (i < n) { auto x = a[i], y = a[i + n]; a[i] = x * y + cuda::std::conj(x) / y; } }
template <class T> __global__ void cplx_exp(cuda::std::complex<T> *a) { a[threadIdx.x] = cuda::std::exp(a[threadIdx.x]) * cuda::std::abs(a[threadIdx.x + 1]); }
template __global__ void cplx<float>(cuda::std::complex<float> *, int); template __global__ void cplx<double>(cuda::std::complex<double> *, int); template __global__ void cplx_exp<float>(cuda::std::complex<float> *);
template <class T> __global__ void transpose(const T *a, T *o, int n, int m) { cuda::std::mdspan<const T, cuda::std::dextents<int, 2>> x(a, n, m); cuda::std::mdspan<T, cuda::std::dextents<int, 2>> y(o, m, n); for (int i = threadIdx.y; i < n; i += blockDim.y) for (int j = threadIdx.x; j < m; j += blockDim.x) y(j, i) = x(i, j); }
template __global__ void transpose<float>(const float *, float *, int, int); template __global__ void transpose<double>(const double *, double *, int, int); template __global__ void transpose<char>(const char *, char *, int, int);
__global__ void bits(const unsigned *a, int *o) { unsigned x = a[threadIdx.x]; o[threadIdx.x] = cuda::std::popcount(x) + cuda::std::countl_zero(x) * cuda::std::countr_zero(x) + cuda::std::bit_ceil(x); }
__global__ void variant(const int *a, float *o) { cuda::std::variant<int, float, double> v; int x = a[threadIdx.x]; if (x == 0) v = 1; else if (x == 1) v = 2.f; else v = 3.; o[threadIdx.x] = cuda::std::visit([](auto z) { return float(z * 2); }, v); }
__global__ void opt(const int *a, int *o) { cuda::std::optional<int> v; if (a[threadIdx.x] > 3) v = a[threadIdx.x] * 2; o[threadIdx.x] = v.value_or(9); }
