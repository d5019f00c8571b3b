__device__ int bottom(int);
__device__ int factor = 3;
__device__ int middle(int x) { return bottom(x) * factor; }
