#include "heavy.h"
__device__ double heavy(int i) {
    double left[24], right[24], sum = 0;
#pragma unroll
    for (int k = 0; k < 24; ++k) left[k] = double((i + k) % 24);
#pragma unroll
    for (int k = 0; k < 24; ++k) right[k] = double((k * 7 + i) % 24);
#pragma unroll
    for (int k = 0; k < 24; ++k) sum += left[k] * right[k];
    return sum;
}
