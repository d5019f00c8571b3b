#include "stages.h"
__device__ int guarded_index(int n) { return min(int(blockIdx.x * blockDim.x + threadIdx.x), n - 1); }
