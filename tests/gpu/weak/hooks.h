#pragma once
extern __device__ int limit;
__device__ int before(int);
__device__ int after(int);
__device__ int through_pointer(int);
__device__ int use_defaults(int);
