#pragma once
__device__ void plot(cudaSurfaceObject_t, int x, int y, int value);
__device__ int around(cudaSurfaceObject_t, int x, int y);
