#include "warp.h"
__device__ int warp_sum(int value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
    return value;
}
__device__ int warp_scan(int value) {
    for (int distance = 1; distance < 32; distance *= 2) {
        int other = __shfl_up_sync(~0u, value, distance);
        if (threadIdx.x % 32 >= distance) value += other;
    }
    return value;
}
