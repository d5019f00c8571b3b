#include "constants.h"
__constant__ float gain = 2.0f;
__constant__ int large[4097] = {1, 2};
__global__ void last(int* out) { *out = (large[4096] + 4096) * (large[0] + large[1]); }
