#include "config.h"
__device__ int arguments[3] = {100, 200, 300};
