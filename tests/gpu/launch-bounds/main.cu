#include "../check.h"
#include "heavy.h"

__global__ void free_(double* out) { out[threadIdx.x] = heavy(threadIdx.x); }

__global__ void __launch_bounds__(256, 2) bounded(double* out) { out[threadIdx.x] = heavy(threadIdx.x) + light(1); }

__global__ void __launch_bounds__(1024) widest(double* out) { out[threadIdx.x] = light(threadIdx.x); }

int main() {
    Buffer<double> out(1024);
    double want = 0;
    for (int k = 0; k < 24; ++k) want += double((31 + k) % 24) * ((k * 7 + 31) % 24);
    free_<<<1, 64>>>(out.data);
    expect_near("free", out.read()[31], want, 0);
    bounded<<<1, 256>>>(out.data);
    expect_near("bounded", out.read()[31], want + 3, 0);
    widest<<<1, 1024>>>(out.data);
    expect_near("widest", out.read()[1023], 1025, 0);
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, bounded));
    expect("threads of bounded", attributes.maxThreadsPerBlock, 256);
    CUDA(cudaFuncGetAttributes(&attributes, widest));
    expect("threads of widest", attributes.maxThreadsPerBlock, 1024);
    return verdict();
}
