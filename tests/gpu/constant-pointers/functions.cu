#include "config.h"
__device__ int add(int a, int b) { return a + b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ int subtract(int a, int b) { return a - b; }
