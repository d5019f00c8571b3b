#include "../check.h"
#include "pipeline.h"

__global__ void run(const int* in, int* out, int tiles) {
    __shared__ alignas(16) int stage[2][TILE];
    int sum = 0;
    fetch(stage[0], in);
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) fetch(stage[(t + 1) % 2], in + (t + 1) * TILE);
        wait_for_oldest(t + 1 < tiles);
        sum += consume(stage[t % 2], t);
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

int main() {
    const int tiles = 9;
    std::vector<int> in(tiles * TILE);
    for (size_t i = 0; i < in.size(); ++i) in[i] = int(i * 19 % 61);
    Buffer<int> from(in), to(THREADS);
    run<<<1, THREADS>>>(from.data, to.data, tiles);
    auto got = to.read();
    int wrong = 0;
    for (int t = 0; t < THREADS; ++t) {
        int sum = 0;
        for (int tile = 0; tile < tiles; ++tile)
            for (int k = 0; k < 4; ++k) sum += in[tile * TILE + (t * 4 + k + tile) % TILE];
        wrong += got[t] != sum;
    }
    expect("values wrong", wrong, 0);
    return verdict();
}
