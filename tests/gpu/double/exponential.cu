#include "functions.h"
__device__ double exponential(double x) { return exp(-x) + log(x) + pow(x, 1.7) + cbrt(x) + sinh(x / 10); }
