#include "../check.h"
#include "scale.h"

static __device__ int offset = 10;

static __global__ void run(int* out) { out[threadIdx.x] = scale(threadIdx.x, threadIdx.x) + offset; }

__global__ void cube(int* out) { out[threadIdx.x] = power<3>(threadIdx.x); }

int main() {
    Buffer<int> out(64);
    int changed[4] = {2, 3, 5, 11}, shift = 100;
    CUDA(cudaMemcpyToSymbol(factors, changed, sizeof changed));
    CUDA(cudaMemcpyToSymbol(offset, &shift, sizeof shift));
    run<<<1, 64>>>(out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += got[i] != 2 * i * changed[i & 3] + 100;
    expect("values wrong", wrong, 0);
    int counted = 0;
    CUDA(cudaMemcpyFromSymbol(&counted, calls, sizeof counted));
    expect("calls", counted, 64);
    cube<<<1, 64>>>(out.data);
    got = out.read();
    expect("last cube", got[63], 63 * 63 * 63);
    return verdict();
}
