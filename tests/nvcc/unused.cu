// Kernels that the host never starts; the linker drops them if every file tells what its host code uses.
#include "parts.h"

static __device__ int hidden[2] = {1, 2};

__global__ void never(int *p) { *p = scale(*p) + hidden[*p & 1]; }
static __global__ void started(int *p) { *p = hidden[*p & 1]; }
__device__ int nobody(int x) { return scale(x) * 3; }

void started_on_host(int *p) { started<<<1, 1>>>(p); }
