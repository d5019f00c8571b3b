#include "../check.h"
#include "store.h"

__global__ void run(int* out, int shift) { store(out, threadIdx.x, shift, weigh(threadIdx.x)); }

// With any argument the last thread writes behind the end of the memory.
int main(int count, char**) {
    const int n = 64;
    int* out;
    CUDA(cudaMalloc(&out, n * sizeof(int)));
    run<<<1, n>>>(out, count > 1 ? 1 : 0);
    finish_kernels();
    std::vector<int> got(n);
    CUDA(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
    int sum = 0;
    for (int value : got) sum += value;
    expect("sum", sum, 64 * 63 + 64 * 5);
    return verdict();
}
