// Algorithms of Thrust. parts: 4
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/transform.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/transform_scan.h>
#include <thrust/sort.h>
#include <thrust/set_operations.h>
#include <thrust/merge.h>
#include <thrust/unique.h>
#include <thrust/partition.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>
#include <thrust/extrema.h>
#include <thrust/count.h>
#include <thrust/inner_product.h>
#include <thrust/binary_search.h>
#include <thrust/sequence.h>
#include <thrust/fill.h>
#include <thrust/tabulate.h>
#include <thrust/adjacent_difference.h>
#include <thrust/mismatch.h>
template <class T> using P = thrust::device_ptr<T>;
struct Axpy { float a; __host__ __device__ float operator()(float x, float y) const { return a * x + y; } };
struct Square { template <class T> __host__ __device__ T operator()(T x) const { return x * x; } };
struct Pick { __host__ __device__ bool operator()(int x) const { return x % 3 == 0; } };
#if PART == 0
void all(P<float> f, P<float> g, P<int> i, P<double> d, P<int> j) {
  thrust::transform(f, f + 1000, g, f, Axpy{2.f}); thrust::transform(d, d + 100, d, Square{});
  thrust::fill(d, d + 10, 1.0); thrust::sequence(i, i + 100); thrust::tabulate(f, f + 10, [] __device__(int k) { return sqrtf(k); });
  thrust::gather(i, i + 10, f, g); thrust::scatter(f, f + 10, i, g); thrust::copy_if(i, i + 10, j, Pick{}); thrust::replace_if(i, i + 10, Pick{}, 7);
  thrust::reduce(d, d + 100); thrust::inner_product(f, f + 10, g, 0.f); thrust::count_if(i, i + 10, Pick{});
  thrust::max_element(f, f + 100); thrust::minmax_element(d, d + 100);
}
#elif PART == 1
void all(P<float> f, P<float> g, P<int> i, P<double> d, P<int> j) {
  thrust::inclusive_scan(f, f + 100, g); thrust::exclusive_scan_by_key(i, i + 10, f, g);
  thrust::transform_inclusive_scan(i, i + 10, j, Square{}, thrust::plus<int>{}); thrust::adjacent_difference(d, d + 10, d);
  thrust::lower_bound(f, f + 100, g, g + 10, i); thrust::upper_bound(d, d + 100, d, d + 10, i); thrust::mismatch(f, f + 10, g);
}
#elif PART == 2
void all(P<float> f, P<float> g, P<int> i, P<double> d, P<int> j) {
  thrust::sort(f, f + 100, thrust::greater<float>{}); thrust::stable_sort_by_key(i, i + 100, d); thrust::sort_by_key(thrust::make_zip_iterator(i, j), thrust::make_zip_iterator(i, j) + 10, f);
}
#else
void all(P<float> f, P<float> g, P<int> i, P<double> d, P<int> j) {
  thrust::set_intersection(i, i + 10, j, j + 10, i); thrust::set_union(f, f + 10, g, g + 10, f); thrust::merge(d, d + 10, d, d + 10, d);
  thrust::unique(i, i + 10); thrust::unique_by_key(i, i + 10, f); thrust::partition(i, i + 10, Pick{}); thrust::reduce_by_key(i, i + 10, f, j, g);
  thrust::transform_reduce(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(100), Square{}, 0, thrust::plus<int>{});
}
#endif
