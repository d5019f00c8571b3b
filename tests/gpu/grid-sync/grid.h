#pragma once
__device__ void step(const int* from, int* to, int n);
__device__ void wait_for_grid();
__host__ __device__ inline int neighbours(const int* at, int i, int n) {
    return (at[(i + n - 1) % n] + 2 * at[i] + at[(i + 1) % n]) % 1009;
}
