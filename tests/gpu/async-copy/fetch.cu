#include "pipeline.h"
#include <cuda_pipeline.h>
__device__ void fetch(int* to, const int* from) {
    __pipeline_memcpy_async(to + threadIdx.x * 4, from + threadIdx.x * 4, 16);
    __pipeline_commit();
}
__device__ void wait_for_oldest(bool more) {
    if (more)
        __pipeline_wait_prior(1);
    else
        __pipeline_wait_prior(0);
    __syncthreads();
}
