#include "../check.h"

__device__ int high(int);
extern __device__ int shared_table[4];

__global__ void run(int* out) {
    int i = threadIdx.x;
    out[i] = high(i) + shared_table[i % 4];
}

int main() {
    Buffer<int> out(32);
    run<<<1, 32>>>(out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 32; ++i) wrong += got[i] != (i * i + 1) * 2 + (i % 4 + 1) * 100;
    expect("values wrong", wrong, 0);
    expect("last", got[31], 962 * 2 + 400);
    return verdict();
}
