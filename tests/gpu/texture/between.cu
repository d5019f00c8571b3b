#include "image.h"
__constant__ cudaTextureObject_t smooth;
__device__ float between(int x, int y) { return tex2D<float>(smooth, x + 1.0f, y + 0.5f); }
