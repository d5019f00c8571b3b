// Functions, a variable and a constant that other files use.
#include "parts.h"

__device__ int counter = 3;
__constant__ int weights[8] = {1, 2, 3, 5, 8, 13, 21, 34};

__device__ __noinline__ int scale(int x) { return x * weights[x & 7] + atomicAdd(&counter, 1); }

__device__ int fold(const int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += scale(p[i]);
    return sum;
}
