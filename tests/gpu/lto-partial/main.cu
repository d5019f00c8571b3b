#include "../check.h"
#include "parts.h"

__global__ void run(int* out) { out[threadIdx.x] = above(threadIdx.x) * 2; }

int main() {
    Buffer<int> out(32);
    run<<<1, 32>>>(out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 32; ++i) wrong += got[i] != ((i + 1) % 32 * 3 + i + 1) * 2;
    expect("values wrong", wrong, 0);
    int last[32];
    CUDA(cudaMemcpyFromSymbol(last, seen, sizeof last));
    expect("seen", last[31], 31);
    return verdict();
}
