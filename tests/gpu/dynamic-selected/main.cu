#include "../check.h"
#include "parts.h"

__global__ void run(int* out) { start(out); }

int main() {
    Buffer<int> out(10);
    run<<<1, 1>>>(out.data);
    auto got = out.read();
    int want[10] = {3, 5, 6, 2, 9, 5, 1, 4, 1, 3}, wrong = 0;
    for (int i = 0; i < 10; ++i) wrong += got[i] != want[i];
    expect("values wrong", wrong, 0);
    expect("first", got[0], 3);
    return verdict();
}
