#pragma once
#include <cuda_fp16.h>
enum { M = 64, N = 8, K = 16 };
struct Fragment {
    float at[4];
};
__device__ void load(half* tile, const half* from, int rows);
__device__ Fragment multiply(const half* left, const half* right);
__device__ void store(float* to, Fragment d);
