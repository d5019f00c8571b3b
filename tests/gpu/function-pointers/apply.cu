#include "ops.h"
__device__ __noinline__ float apply(Operation op, float x) { return op(x); }
__device__ float increment(float x) { return x + 1; }
__device__ float halve(float x) { return x / 2; }
