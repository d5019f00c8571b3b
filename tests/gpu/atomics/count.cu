#include "counters.h"
__device__ unsigned histogram[16];
__device__ void count(int i) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[i * 7 % 16], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&histogram[threadIdx.x], bins[threadIdx.x]);
}
