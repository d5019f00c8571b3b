#include "steps.h"
__device__ int inner(int value, int extra) {
    int square = value * value;
    return square + extra;  // break here
}
