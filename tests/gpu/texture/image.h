#pragma once
enum { WIDTH = 16, HEIGHT = 8 };
extern __constant__ cudaTextureObject_t smooth;
__device__ float texel(cudaTextureObject_t, int x, int y);
__device__ float between(int x, int y);
