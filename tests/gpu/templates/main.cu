#include "../check.h"
#include "matrix.h"

__global__ void run(double* out) {
    out[0] = from_first(4);
    out[1] = from_second(5);
    out[2] = from_third(2);
    out[3] = power(2, 10);
    out[4] = next<int>();
}

int main() {
    Buffer<double> out(5);
    run<<<1, 1>>>(out.data);
    auto got = out.read();
    expect_near("first", got[0], 3 + 81 + 400, 0);
    expect_near("second", got[1], 13 + 32 + 401, 0);
    expect_near("third", got[2], 4.3125 + 2.25 + 4 + 800, 0);
    expect_near("power", got[3], 1024, 0);
    expect_near("one counter for all files", got[4], 402, 0);
    Buffer<int> bumped(3);
    bump_first(bumped.data);
    bump_second(bumped.data + 1);
    bump<float><<<1, 32>>>(bumped.data + 2);
    auto b = bumped.read();
    expect("kernel of the first file", b[0], 400 + 7);
    expect("kernel of the second file", b[1], 401 + 7);
    expect("kernel of this file", b[2], 402 + 7);
    return verdict();
}
