#pragma once
__device__ int used(int x);
__device__ int deep(int x);
__device__ int unused(int x);
void launch_used(int* out);
