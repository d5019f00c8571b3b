#include "../check.h"
#include "counters.h"

__global__ void run() {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    count(i);
    measure(i);
}

int main() {
    run<<<64, 256>>>();
    finish_kernels();
    const long long n = 64 * 256;
    unsigned bins[16];
    Totals got;
    CUDA(cudaMemcpyFromSymbol(bins, histogram, sizeof bins));
    CUDA(cudaMemcpyFromSymbol(&got, totals, sizeof got));
    int wrong = 0;
    for (unsigned bin : bins) wrong += bin != n / 16;
    expect("bins wrong", wrong, 0);
    expect("sum", got.sum, n * (n - 1) / 2);
    expect("largest", got.largest, n - 1);
    expect("bits", got.bits, n - 1);
    expect_near("float", got.real, double(n), 0);
    expect_near("double", got.precise, n * 0.5, 0);
    expect("product by compare and swap", got.product, 1ll << 40);
    return verdict();
}
