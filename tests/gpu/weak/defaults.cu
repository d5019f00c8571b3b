#include "hooks.h"
// nvcc makes weak symbols of inline functions; it ignores the attribute `weak`
__device__ inline __noinline__ int before(int x) { return x + 1; }
__device__ inline __noinline__ int after(int x) { return x + 2; }
__device__ int limit = 77;
__device__ int use_defaults(int x) { return before(x) * 100 + after(x) + limit; }
