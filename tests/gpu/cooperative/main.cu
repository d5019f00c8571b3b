#include "../check.h"
#include "groups.h"

__global__ void run(const int* in, int* out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int value = in[block.thread_rank()];
    out[block.thread_rank()] = tile_sum(tile, value);
    out[128 + block.thread_rank()] = labeled(value % 3);
    int total = block_total(block, value);
    if (block.thread_rank() == 0) out[256] = total;
}

int main() {
    std::vector<int> in(128);
    for (int i = 0; i < 128; ++i) in[i] = i * i % 23;
    Buffer<int> from(in), to(257);
    run<<<1, 128>>>(from.data, to.data);
    auto got = to.read();
    int wrong = 0, total = 0;
    for (int i = 0; i < 128; ++i) {
        int tile = 0, same = 0;
        for (int k = i / 16 * 16; k < i / 16 * 16 + 16; ++k) tile += in[k];
        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) same += in[k] % 3 == in[i] % 3;
        wrong += got[i] != tile;
        wrong += got[128 + i] != same;
        total += in[i];
    }
    expect("values wrong", wrong, 0);
    expect("total of the block", got[256], total);
    return verdict();
}
