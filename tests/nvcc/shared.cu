// Static and dynamic shared memory, barriers and launch bounds.
#include "parts.h"

extern __shared__ int dynamic[];

__device__ __noinline__ int exchange(int x) {
    __shared__ int fixed[64];
    fixed[threadIdx.x & 63] = x;
    __syncthreads();
    return fixed[(threadIdx.x + 1) & 63] + dynamic[threadIdx.x];
}

__global__ void __launch_bounds__(128, 2) rotate(int *p) { p[threadIdx.x] = exchange(p[threadIdx.x]); }
__global__ void rotate_scaled(int *p) { p[threadIdx.x] = scale(exchange(p[threadIdx.x])); }

void rotate_on_host(int *p) {
    rotate<<<1, 128, 512>>>(p);
    rotate_scaled<<<1, 128, 512>>>(p);
}
