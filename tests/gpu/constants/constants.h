#pragma once
extern __constant__ float gain;
extern __constant__ int polynomial[3];
extern __constant__ int large[4097];
__device__ float evaluate(int x);
__global__ void last(int* out);
