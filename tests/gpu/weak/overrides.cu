#include "hooks.h"
__device__ int before(int x) { return x + 1000; }
