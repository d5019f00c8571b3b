__device__ int gtable[10] = {1};
