#pragma once

extern __constant__ int pattern[10];

__global__ void child(int* out);
__device__ void step(int which, int* out);
