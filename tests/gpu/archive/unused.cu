#include "parts.h"
__device__ int large_and_unused[10000];
__device__ int unused(int x) { return large_and_unused[x] + deep(x); }
static __global__ void never(int* out) { *out = unused(1); }
void launch_never(int* out) { never<<<1, 1>>>(out); }
