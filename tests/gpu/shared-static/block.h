#pragma once
enum { BLOCK = 128 };
__device__ int block_sum(int value);
__device__ int block_scan(int value);
__global__ void reverse(const int* in, int* out);
