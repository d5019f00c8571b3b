#include "canvas.h"
__device__ void plot(cudaSurfaceObject_t canvas, int x, int y, int value) { surf2Dwrite(value, canvas, x * 4, y); }
