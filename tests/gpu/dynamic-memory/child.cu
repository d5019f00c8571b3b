#include "parts.h"

__constant__ int pattern[10] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

__global__ void child(int* out) { out[threadIdx.x] += pattern[threadIdx.x]; }
