// Defines what scale.cu defines: an error.
__device__ int counter = 4;
__device__ int scale(int x) { return x; }
