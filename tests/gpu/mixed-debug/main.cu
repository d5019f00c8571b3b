#include "../check.h"
#include "levels.h"

__global__ void run(int* out) { out[threadIdx.x] = middle(threadIdx.x); }

int main() {
    Buffer<int> out(32);
    run<<<1, 32>>>(out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 32; ++i) wrong += got[i] != 7 * i + 3;
    expect("values wrong", wrong, 0);
    expect("last", got[31], 220);
    return verdict();
}
