#include "../check.h"
#include "guard.h"

__global__ void run(int* out, int limit) { out[threadIdx.x] = guarded(threadIdx.x, limit); }

int main() {
    Buffer<int> out(8);
    run<<<1, 8>>>(out.data, 8);
    expect("guarded", out.read()[7], 49);
    run<<<1, 8>>>(out.data, 7);
    cudaError_t error = cudaDeviceSynchronize();
    expect("the assertion fails", error == cudaErrorAssert, 1);
    return verdict();
}
