__device__ int (*table[2])(int);
__device__ __noinline__ int again(int n) { return n < 2 ? 1 : table[n & 1](n - 1) + 3; }
__global__ void through(int *p) { table[0] = again; *p = again(*p); }
