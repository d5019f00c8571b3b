#include "levels.h"
__device__ int low(int x) { return 7 * x; }
