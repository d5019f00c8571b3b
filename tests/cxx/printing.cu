#include "shapes.h"
#include <cassert>
__device__ __noinline__ void complain(int x) { printf("bad value %d in %s\n", x, "printing"); }
__global__ void printing(int* out) {
    if (out[0] < 0) complain(out[0]);
    assert(out[1] != 0);
    int* p = static_cast<int*>(malloc(64));
    p[threadIdx.x] = total;
    out[2] = p[0];
    free(p);
}
