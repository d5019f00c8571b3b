#include "../check.h"
#include "launch.h"

__global__ void parent(int* out, int n) {
    if (threadIdx.x == 0) launch_fill(out, n);
}

int main() {
    const int n = 1000;
    Buffer<int> out(n + 1);
    parent<<<1, 32>>>(out.data, n);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += got[i] != 3 * i + 1;
    expect("values wrong", wrong, 0);
    expect("sum by the tail launch", got[n], 3 * n * (n - 1) / 2 + n);
    return verdict();
}
