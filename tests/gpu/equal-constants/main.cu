#include "../check.h"

__global__ void first(int* out);
__global__ void second(int* out);
int read_second();

int main() {
    Buffer<int> out(8);
    first<<<1, 4>>>(out.data);
    second<<<1, 4>>>(out.data + 4);
    auto got = out.read();
    for (int i = 0; i < 4; ++i) {
        expect("first file", got[i], 5 + i);
        expect("second file", got[4 + i], 5 + i);
    }
    expect("cudaMemcpyFromSymbol", read_second(), 8);
    return verdict();
}
