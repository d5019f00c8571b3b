#pragma once
__device__ int guarded_index(int n);
void queue_add(int* data, int n, int amount, cudaStream_t stream);
void queue_double(int* data, int n, cudaStream_t stream);
