#pragma once
__device__ void cluster_wait();
__device__ unsigned cluster_rank();
__device__ unsigned cluster_size();
__device__ int from_next(int* mine);
__device__ int cluster_sum(int* mine);
