#include "libraries.h"
__device__ int back(int x) { return policy(x) + lookup(2); }
