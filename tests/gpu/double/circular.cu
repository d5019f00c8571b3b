#include "functions.h"
__device__ double circular(double x) { return sin(x) + cos(3 * x) + tan(x / 40) + atan2(x, 2.0) + sin(1e9 * x); }
