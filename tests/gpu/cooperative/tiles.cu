#include "groups.h"
#include <cooperative_groups/reduce.h>
__device__ int tile_sum(cg::thread_block_tile<16> tile, int value) { return cg::reduce(tile, value, cg::plus<int>()); }
__device__ int labeled(int label) {
    return int(cg::labeled_partition(cg::coalesced_threads(), label).size());
}
