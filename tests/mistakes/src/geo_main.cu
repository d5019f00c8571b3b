namespace geo { __device__ float helper(float); }
__global__ void geo_kernel(float *p) { *p = geo::helper(*p); }
