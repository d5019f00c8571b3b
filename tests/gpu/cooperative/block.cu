#include "groups.h"
__device__ int block_total(cg::thread_block block, int value) {
    __shared__ int total;
    if (block.thread_rank() == 0) total = 0;
    block.sync();
    atomicAdd(&total, value);
    block.sync();
    return total;
}
