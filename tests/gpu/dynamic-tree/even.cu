#include "tree.h"
__global__ void even(int level) {
    atomicAdd(&visits[level], 1);
    if (level + 1 < LEVELS)
        for (int side = 0; side < 2; ++side) odd<<<1, 1, 0, cudaStreamFireAndForget>>>(level + 1);
}
