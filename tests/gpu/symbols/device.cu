#include "settings.h"
__device__ int table[4] = {-1, -1, -1, -1};
__device__ int result;
