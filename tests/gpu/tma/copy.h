#pragma once
#include <cuda.h>
__device__ void barrier_init(unsigned long long* barrier);
__device__ void barrier_expect(unsigned long long* barrier, unsigned bytes);
__device__ void barrier_wait(unsigned long long* barrier, unsigned phase);
__device__ void copy_line(void* to, const void* from, unsigned bytes, unsigned long long* barrier);
__device__ void copy_tile(void* to, const CUtensorMap* map, int x, int y, unsigned long long* barrier);
CUtensorMap make_map(int* data, unsigned width, unsigned height);
