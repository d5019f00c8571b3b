extern "C" __device__ int protof(int);
__global__ void pa(int *p) { *p = protof(*p); }
