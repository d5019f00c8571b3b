#include "tile.h"
// Shared memory holds 8 x 8 blocks: the two blocks of a row of blocks side by side, then the next row.
__device__ void load(half* tile, const half* from, int rows) {
    for (int i = threadIdx.x; i < rows * K; i += blockDim.x) {
        int row = i / K, k = i % K;
        tile[(row / 8 * 2 + k / 8) * 64 + row % 8 * 8 + k % 8] = from[i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ void store(float* to, Fragment d) {
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    for (int i = 0; i < 4; ++i) to[(row + i / 2 * 8) * N + column + i % 2] = d.at[i];
}
