#include "scale.h"

__device__ __noinline__ int twice(int value) { return value + value + power<3>(value) - value * value * value; }

// Nobody launches it: the optimizer may remove it.
__global__ void unused(int* out) { out[threadIdx.x] = twice(out[threadIdx.x]); }
