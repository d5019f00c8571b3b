__device__ int twice(int x) { return 2 * x; }
__global__ void kernel(int *p) { *p = twice(*p); }
