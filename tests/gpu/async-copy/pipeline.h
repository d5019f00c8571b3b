#pragma once
enum { THREADS = 64, TILE = 4 * THREADS };
__device__ void fetch(int* to, const int* from);
__device__ void wait_for_oldest(bool more);
__device__ int consume(const int* tile, int shift);
