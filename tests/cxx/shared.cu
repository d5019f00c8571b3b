#include "shapes.h"
template <typename T> struct Scratch {
    static __device__ T* get() {
        __shared__ T data[64];
        return data;
    }
};
extern __shared__ float dynamic[];
__device__ __noinline__ float reduce(float x) {
    __shared__ float part[32];
    part[threadIdx.x & 31] = x;
    __syncthreads();
    return part[(threadIdx.x + 1) & 31] + dynamic[threadIdx.x];
}
__global__ void reduce_kernel(float* out) {
    Scratch<float>::get()[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = reduce(Scratch<float>::get()[63 - threadIdx.x]) * weights[threadIdx.x & 15];
}
__global__ void reduce_ints(int* out) {
    Scratch<int>::get()[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = Scratch<int>::get()[63 - threadIdx.x];
}
