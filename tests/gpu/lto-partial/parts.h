#pragma once

__device__ int above(int value);
__device__ int leaf(int value);
extern __device__ int seen[32];
