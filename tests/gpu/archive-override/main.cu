#include "../check.h"
#include "libraries.h"

__device__ int policy(int x) { return x + 5000; }

__global__ void run(int* out) {
    out[0] = front(1);
    out[1] = lookup(2);
}

int main() {
    Buffer<int> out(2);
    run<<<1, 1>>>(out.data);
    auto got = out.read();
    expect("front", got[0], (5001 + 30) * 2 + 5001);
    expect("lookup", got[1], 30);
    return verdict();
}
