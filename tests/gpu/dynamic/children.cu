#include "launch.h"
__global__ void fill(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value_at(i);
}
__global__ void add_up(int* out, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += out[i];
    out[n] = sum;
}
