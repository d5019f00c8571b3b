#include "store.h"
__device__ int weigh(int i) { return 2 * i + 5; }
