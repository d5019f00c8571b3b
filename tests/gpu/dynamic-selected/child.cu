#include "parts.h"

__constant__ int pattern[10] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

__global__ void child(int* out) {
    __shared__ int room[10];
    room[threadIdx.x] = pattern[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = room[9 - threadIdx.x];
}
