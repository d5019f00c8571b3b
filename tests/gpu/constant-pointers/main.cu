#include "../check.h"
#include "config.h"

__global__ void run(int* out) {
    int i = threadIdx.x;
    const Stage& stage = stages[i];
    out[i] = stage.apply(*stage.argument, i);
}

int main() {
    Buffer<int> out(3);
    run<<<1, 3>>>(out.data);
    auto got = out.read();
    expect("add", got[0], 100 + 0);
    expect("multiply", got[1], 200 * 1);
    expect("subtract", got[2], 300 - 2);
    return verdict();
}
