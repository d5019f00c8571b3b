#include "block.h"
__device__ int block_sum(int value) {
    __shared__ int partial[BLOCK];
    __syncthreads();
    partial[threadIdx.x] = value;
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    }
    __syncthreads();
    return partial[0];
}
