#include "stages.h"
static __global__ void kernel(int* data, int n) { data[guarded_index(n)] *= 2; }
void queue_double(int* data, int n, cudaStream_t stream) { kernel<<<n / 256, 256, 0, stream>>>(data, n); }
