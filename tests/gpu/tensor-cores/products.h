#pragma once
#include <cuda_fp16.h>
__device__ void half_product(const half* a, const half* b, float* out);
__device__ void double_product(const double* a, const double* b, double* out);
