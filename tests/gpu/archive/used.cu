#include "parts.h"
__device__ int used(int x) { return x * 5 + deep(2); }
static __global__ void kernel(int* out) { out[threadIdx.x] = threadIdx.x + deep(2); }
void launch_used(int* out) { kernel<<<1, 32>>>(out); }
