#include "../check.h"
#include "warp.h"

__global__ void run(const int* in, int* out) {
    int i = threadIdx.x, value = in[i];
    out[i] = warp_sum(value);
    out[64 + i] = warp_scan(value);
    out[128 + i] = rank_among_equal(value % 5);
    out[192 + i] = count_above(value, 10);
}

int main() {
    std::vector<int> in(64);
    for (int i = 0; i < 64; ++i) in[i] = i * 17 % 29;
    Buffer<int> from(in), to(256);
    run<<<1, 64>>>(from.data, to.data);
    auto got = to.read();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) {
        int first = i / 32 * 32, sum = 0, scan = 0, rank = 0, above = 0;
        for (int k = first; k < first + 32; ++k) {
            sum += in[k];
            scan += k <= i ? in[k] : 0;
            rank += k < i && in[k] % 5 == in[i] % 5;
            above += in[k] > 10;
        }
        wrong += got[i] != sum || got[64 + i] != scan || got[128 + i] != rank || got[192 + i] != above;
    }
    expect("threads wrong", wrong, 0);
    expect("sum of the first warp", got[0], got[64 + 31]);
    return verdict();
}
