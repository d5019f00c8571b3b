#include "warp.h"
__device__ int rank_among_equal(int key) {
    unsigned below = (1u << threadIdx.x % 32) - 1;
    return __popc(__match_any_sync(~0u, key) & below);
}
__device__ int count_above(int value, int limit) { return __popc(__ballot_sync(~0u, value > limit)); }
