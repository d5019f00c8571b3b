#include "block.h"
__shared__ int line[BLOCK];
__device__ int block_scan(int value) {
    line[threadIdx.x] = value;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < threadIdx.x; ++i) sum += line[i];
    __syncthreads();
    return sum;
}
__global__ void reverse(const int* in, int* out) {
    line[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = line[BLOCK - 1 - threadIdx.x];
}
