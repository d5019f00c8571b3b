#include "parts.h"

__device__ int leaf(int value) {
    __shared__ int room[32];
    room[threadIdx.x & 31] = value * 3;
    __syncwarp();
    return room[(threadIdx.x + 1) & 31] + seen[threadIdx.x & 31];
}
