#include "ops.h"
__device__ Operation operations[4] = {increment, square, negate_, halve};
__device__ Operation pick(int i) { return operations[i]; }
