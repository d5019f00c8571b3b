#include "nodes.h"
__device__ int b = 2, d = 4;
__device__ Node second = {&b, &third};
__device__ Node fourth = {&d, nullptr};
__device__ int table[8] = {10, 20, 30, 40, 50, 60, 70, 80};
