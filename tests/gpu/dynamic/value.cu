#include "launch.h"
__device__ int value_at(int i) { return 3 * i + 1; }
