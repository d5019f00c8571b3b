__device__ float other(float x){ return x*2.0f; }
__global__ void second(float*p){ p[threadIdx.x]=other(p[0]); }
