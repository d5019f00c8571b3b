// Managed memory, an array without initial value, and a static one of the same name as another file's.
#include "parts.h"

__managed__ int total = 5;
__device__ int history[1000];
static __device__ int hidden[4] = {9, 8, 7, 6};

__global__ void collect(int i) {
    total += scale(history[i]) + hidden[i & 3];
    history[i] = total;
}

void collect_on_host() { collect<<<1, 1>>>(3); }
