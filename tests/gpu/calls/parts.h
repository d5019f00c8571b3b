#pragma once
extern __device__ int factor, calls;
extern __device__ int bias[4];
__device__ int scale(int x);
__device__ int offset(int x);
