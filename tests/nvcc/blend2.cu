// The other user of the template's instances.
#include "parts.h"

template <class T> __global__ void reduce(T *p, int n) {
    for (int i = 1; i < n; ++i) p[0] = blend<T>(p[0], p[i]);
}
template __global__ void reduce<int>(int *, int);

__device__ float blend_again(float a) { return blend<float>(a, a) + weights[1]; }

void reduce_on_host(double *p) { reduce<double><<<1, 1>>>(p, 8); }
