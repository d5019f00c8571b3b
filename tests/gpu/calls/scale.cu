#include "parts.h"
__device__ int factor = 3;
__device__ int calls;
__device__ __noinline__ int scale(int x) { return x * factor; }
