#include "../check.h"
#include "pool.h"

__global__ void run(int n, double* out) {
    extern __shared__ double pool[];
    __shared__ int fixed[4];
    if (threadIdx.x < 4) fixed[threadIdx.x] = threadIdx.x + 1;
    fill(n);
    __syncthreads();
    double mine = pool[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = mine + read_bytes(threadIdx.x) * fixed[threadIdx.x % 4];
}

__global__ void large(int n, double* out) {
    fill(n);
    __syncthreads();
    if (threadIdx.x == 0) *out = total(n);
}

int main() {
    Buffer<double> out(64), sum(1);
    run<<<1, 64, 64 * sizeof(double)>>>(64, out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) {
        double value = i * 0.5;
        unsigned char bytes[8];
        memcpy(bytes, &value, 8);
        wrong += got[i] != value + bytes[7] * (i % 4 + 1);
    }
    expect("values wrong", wrong, 0);

    const int n = 24000;  // 192,000 bytes
    CUDA(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, n * 8));
    large<<<1, 256, n * 8>>>(n, sum.data);
    expect_near("total of a large pool", sum.read()[0], 0.5 * n * (n - 1.0) / 2, 1e-14);
    return verdict();
}
