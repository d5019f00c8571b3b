#include "small.h"
__device__ half limits[2] = {__half_raw{0x7bff}, __half_raw{0xfbff}};
__device__ __nv_bfloat16 brain(__nv_bfloat16 x) { return x * __nv_bfloat16(4.0f) - __nv_bfloat16(1.0f); }
__global__ void largest(float* out) { *out = __half2float(__hmax(limits[0], limits[1])); }
