#include "../check.h"
#include "block.h"

__global__ void sums(const int* in, int* out) {
    int total = block_sum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

__global__ void both(const int* in, int* out) {
    __shared__ int own[BLOCK];
    int i = threadIdx.x;
    own[i] = in[i];
    int before = block_scan(in[i]);
    int total = block_sum(in[i]);
    __syncthreads();
    out[i] = before + total + own[BLOCK - 1 - i];
}

int main() {
    std::vector<int> in(4 * BLOCK);
    for (size_t i = 0; i < in.size(); ++i) in[i] = int(i % 10);
    Buffer<int> from(in), per_block(4), per_thread(BLOCK), reversed_(BLOCK);
    sums<<<4, BLOCK>>>(from.data, per_block.data);
    both<<<1, BLOCK>>>(from.data, per_thread.data);
    reverse<<<1, BLOCK>>>(from.data, reversed_.data);
    int want[4] = {}, before = 0, wrong = 0;
    for (size_t i = 0; i < in.size(); ++i) want[i / BLOCK] += in[i];
    auto sums_got = per_block.read();
    for (int b = 0; b < 4; ++b) wrong += sums_got[b] != want[b];
    auto got = per_thread.read(), turned = reversed_.read();
    for (int i = 0; i < BLOCK; ++i) {
        wrong += got[i] != before + want[0] + in[BLOCK - 1 - i];
        before += in[i];
        wrong += turned[i] != in[BLOCK - 1 - i];
    }
    expect("values wrong", wrong, 0);
    expect("sum of the first block", sums_got[0], want[0]);
    return verdict();
}
