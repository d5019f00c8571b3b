#pragma once
__device__ int warp_sum(int value);
__device__ int warp_scan(int value);
__device__ int rank_among_equal(int key);
__device__ int count_above(int value, int limit);
