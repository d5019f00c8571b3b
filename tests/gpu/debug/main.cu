#include "../check.h"
#include "steps.h"

__global__ void run(const int* in, int* out) {
    __shared__ int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = outer(tile, threadIdx.x);
}

int main() {
    std::vector<int> in(32);
    for (int i = 0; i < 32; ++i) in[i] = i + 1;
    Buffer<int> from(in), to(32);
    run<<<1, 32>>>(from.data, to.data);
    auto got = to.read();
    int wrong = 0;
    for (int i = 0; i < 32; ++i) wrong += got[i] != (i + 1) * (i + 1) + 32 - i + weights_sum();
    expect("values wrong", wrong, 0);
    expect("first", got[0], 1 + 32 + 60);
    return verdict();
}
