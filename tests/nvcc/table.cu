// A table of functions of this file and another.
#include "parts.h"

static __device__ int twice(int x) { return x + x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ Operation operations[3] = {scale, twice, thrice};
