static __constant__ int more = 5;
__device__ int bottom(int x) { return x + more; }
