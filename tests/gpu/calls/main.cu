#include "../check.h"
#include "parts.h"

__global__ void run(int* out) {
    int i = threadIdx.x;
    out[i] = scale(i) + offset(i) + bias[i % 4];
    atomicAdd(&calls, 1);
}

__global__ void count(int* out) { *out = calls; }

int main() {
    Buffer<int> out(64);
    run<<<1, 64>>>(out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += got[i] != i * 3 + (i * 3 - 7) + 10 * (i % 4 + 1);
    expect("values wrong", wrong, 0);
    expect("last value", got[63], 63 * 6 - 7 + 40);
    Buffer<int> total(1);
    count<<<1, 1>>>(total.data);
    expect("calls", total.read()[0], 64);
    return verdict();
}
