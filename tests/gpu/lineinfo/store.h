#pragma once
__device__ void store(int* out, int i, int shift, int value);
__device__ int weigh(int i);
