__device__ __noinline__ int rec2(int);
__device__ __noinline__ int rec(int n) { return n < 2 ? 1 : rec2(n - 1) + rec2(n - 2) * 3; }
__device__ __noinline__ int rec2(int n) { return n < 2 ? 1 : rec(n - 1) + rec(n - 2); }
__global__ void recursive(int *p) { *p = rec(*p); }
