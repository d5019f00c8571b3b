__device__ int twice_host(int x) { return x + x; }
