#include "pool.h"
extern __shared__ __align__(16) double numbers[];
__device__ void fill(int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) numbers[i] = i * 0.5;
}
__device__ double total(int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += numbers[i];
    return sum;
}
