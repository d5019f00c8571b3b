#include "scale.h"

__constant__ int factors[4] = {1, 3, 5, 7};
__device__ int calls;

__device__ int scale(int value, int which) {
    atomicAdd(&calls, 1);
    return twice(value) * factors[which & 3];
}
