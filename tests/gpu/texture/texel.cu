#include "image.h"
__device__ float texel(cudaTextureObject_t image, int x, int y) { return tex2D<float>(image, x + 0.5f, y + 0.5f); }
