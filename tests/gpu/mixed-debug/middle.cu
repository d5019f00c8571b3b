#include "levels.h"
__device__ int middle(int x) {
    int below = low(x);
    return below + 3;  // break here
}
