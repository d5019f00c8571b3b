#include "../check.h"
#include "recursive.h"

__global__ void run(int* out) {
    out[0] = fibonacci(15);
    out[1] = ackermann(2, 6);
    out[2] = is_even(40);
    out[3] = is_odd(40);
    int values[7] = {5, 3, 9, 1, 7, 2, 8};
    sort(values, 0, 6);
    int joined = 0;
    for (int v : values) joined = joined * 10 + v;
    out[4] = joined;
    out[5] = hanoi(10, 0, 1, 2);
}

int main() {
    CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
    Buffer<int> out(6);
    run<<<1, 1>>>(out.data);
    auto got = out.read();
    expect("fibonacci", got[0], 610);
    expect("ackermann", got[1], 15);
    expect("is even", got[2], 1);
    expect("is odd", got[3], 0);
    expect("sorted", got[4], 1235789);
    expect("moves", got[5], 1023);
    return verdict();
}
