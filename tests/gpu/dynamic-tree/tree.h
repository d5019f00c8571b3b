#pragma once
enum { LEVELS = 5 };
extern __device__ int visits[LEVELS];
__global__ void even(int level);
__global__ void odd(int level);
