#include "shapes.h"
template <typename T, int N> __global__ void sums(const Tile<T, N>* in, T* out) { out[threadIdx.x] = clamp_to(in[threadIdx.x].sum(), T(0), T(100)); }
template __global__ void sums<int, 4>(const Tile<int, 4>*, int*);
template __global__ void sums<double, 8>(const Tile<double, 8>*, double*);
__global__ void fibonacci(int* out) { out[0] = Fib<5>::value(out[1]) + bits(out[2]); }
