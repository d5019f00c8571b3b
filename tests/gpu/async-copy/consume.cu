#include "pipeline.h"
__device__ int consume(const int* tile, int shift) {
    int sum = 0;
    for (int k = 0; k < 4; ++k) sum += tile[(threadIdx.x * 4 + k + shift) % TILE];
    return sum;
}
