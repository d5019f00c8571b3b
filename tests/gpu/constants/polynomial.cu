#include "constants.h"
__constant__ char before = 7;  // so that what follows needs alignment
__constant__ int polynomial[3] = {1, 2, 3};
__device__ float evaluate(int x) { return float(polynomial[0] + x * (polynomial[1] + x * polynomial[2]) + before - 7); }
