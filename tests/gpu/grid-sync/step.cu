#include "grid.h"
__device__ void step(const int* from, int* to, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = neighbours(from, i, n);
}
