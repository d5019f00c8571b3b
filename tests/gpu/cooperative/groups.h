#pragma once
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int tile_sum(cg::thread_block_tile<16> tile, int value);
__device__ int labeled(int label);
__device__ int block_total(cg::thread_block block, int value);
