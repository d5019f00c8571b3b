// Device-wide algorithms of CUB, one family per part. parts: 12
#include <cub/cub.cuh>
#include <cuda/std/functional>
using u64 = unsigned long long;
struct Less { template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const { return a < b; } };
struct Odd { template <class T> __host__ __device__ bool operator()(const T &a) const { return (static_cast<long long>(a) & 1) != 0; } };
struct Equal { template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const { return a == b; } };
struct Twice { template <class T> __host__ __device__ T operator()(const T &a) const { return a + a; } };
template <class T> struct Args { T *in, *out; int *n, *flags; const int *begin, *end; std::size_t bytes; };

#if PART == 0
template <class T> void family(Args<T> a) {
  cub::DeviceReduce::Sum(nullptr, a.bytes, a.in, a.out, 1000);
  cub::DeviceReduce::Min(nullptr, a.bytes, a.in, a.out, 1000);
}
#elif PART == 1
template <class T> void family(Args<T> a) {
  cub::DeviceSegmentedReduce::Sum(nullptr, a.bytes, a.in, a.out, 10, a.begin, a.end);
  cub::DeviceReduce::ReduceByKey(nullptr, a.bytes, a.n, a.n, a.in, a.out, a.flags, cuda::std::plus<>{}, 1000);
}
#elif PART == 2
template <class T> void family(Args<T> a) {
  cub::DeviceScan::InclusiveSum(nullptr, a.bytes, a.in, a.out, 1000);
  cub::DeviceScan::ExclusiveSum(nullptr, a.bytes, a.in, a.out, 1000);
}
#elif PART == 3
template <class T> void family(Args<T> a) { cub::DeviceRadixSort::SortKeys(nullptr, a.bytes, a.in, a.out, 1000); }
#elif PART == 4
template <class T> void family(Args<T> a) { cub::DeviceRadixSort::SortPairs(nullptr, a.bytes, a.n, a.flags, a.in, a.out, 1000); }
#elif PART == 5
template <class T> void family(Args<T> a) {
  cub::DeviceSelect::If(nullptr, a.bytes, a.in, a.out, a.n, 1000, Odd{});
  cub::DeviceSelect::Flagged(nullptr, a.bytes, a.in, a.flags, a.out, a.n, 1000);
  cub::DeviceSelect::Unique(nullptr, a.bytes, a.in, a.out, a.n, 1000);
}
#elif PART == 6
template <class T> void family(Args<T> a) {
  cub::DevicePartition::If(nullptr, a.bytes, a.in, a.out, a.n, 1000, Odd{});
  cub::DeviceRunLengthEncode::Encode(nullptr, a.bytes, a.in, a.out, a.n, a.flags, 1000);
}
#elif PART == 7
template <class T> void family(Args<T> a) { cub::DeviceMergeSort::SortKeys(nullptr, a.bytes, a.in, 1000, Less{}); }
#elif PART == 8
template <class T> void family(Args<T> a) {
  cub::DeviceHistogram::HistogramEven(nullptr, a.bytes, a.in, a.n, 257, T(0), T(100), 1000);
  cub::DeviceRunLengthEncode::NonTrivialRuns(nullptr, a.bytes, a.in, a.n, a.n, a.flags, 1000);
}
#elif PART == 9
template <class T> void family(Args<T> a) {
  cub::DeviceAdjacentDifference::SubtractLeftCopy(nullptr, a.bytes, a.in, a.out, 1000);
  cub::DeviceTransform::Transform(cuda::std::make_tuple(a.in), a.out, 1000, Twice{});
  cub::DeviceFor::ForEachN(a.in, 1000, [] __device__(T &x) { x = x + x; });
}
#elif PART == 10
template <class T> void family(Args<T> a) { cub::DeviceSegmentedRadixSort::SortKeys(nullptr, a.bytes, a.in, a.out, 1000, 10, a.begin, a.end); }
#else
template <class T> void family(Args<T> a) {
  cub::DeviceScan::InclusiveSumByKey(nullptr, a.bytes, a.n, a.in, a.out, 1000);
  cub::DeviceSelect::UniqueByKey(nullptr, a.bytes, a.n, a.in, a.flags, a.out, a.flags, 1000);
}
#endif
void all() {
  family(Args<int>{});
  family(Args<double>{});
  family(Args<u64>{});
  family(Args<unsigned char>{});
}
