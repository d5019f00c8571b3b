#include "nodes.h"
__device__ int a = 1, c = 3;
__device__ Node head = {&a, &second};
__device__ Node third = {&c, &fourth};
__device__ int* middle = &table[5];
