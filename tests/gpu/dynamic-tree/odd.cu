#include "tree.h"
__global__ void odd(int level) {
    atomicAdd(&visits[level], 1);
    if (level + 1 < LEVELS)
        for (int side = 0; side < 2; ++side) even<<<1, 1, 0, cudaStreamFireAndForget>>>(level + 1);
}
