#pragma once

__global__ void child(int* out);
__device__ void start(int* out);
