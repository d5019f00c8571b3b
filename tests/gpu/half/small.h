#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__device__ half2 combine(half2 a, half2 b);
__device__ __nv_bfloat16 brain(__nv_bfloat16 x);
__device__ half root(half x);
__global__ void largest(float* out);
extern __device__ half limits[2];
