// Instances of a template that blend2.cu has too.
#include "parts.h"

__global__ void blend_int(int *p) { *p = blend<int>(p[0], p[1]) + counter; }
__global__ void blend_float(float *p) { *p = blend<float>(p[0], p[1]); }

void blend_on_host(int *p, float *q) {
    blend_int<<<1, 1>>>(p);
    blend_float<<<1, 1>>>(q);
}
