__device__ int only; __constant__ double cd=2.5;
