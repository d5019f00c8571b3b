#include "../check.h"
#include "chain.h"

__global__ void run(const float* in, float* out) {
    int i = threadIdx.x;
    out[i] = level1(in, i);
}

// the same on the host
static float reference(const float* in, int i, int level) {
    float keep[WIDTH], sum = 0;
    for (int k = 0; k < WIDTH; ++k) keep[k] = in[(i + k * level) % SIZE] + float(level);
    float deeper = level == LEVELS ? 1.0f : reference(in, i + level, level + 1);
    for (int k = 0; k < WIDTH; ++k) sum += keep[k] * float((k + level) % 3) + deeper;
    return std::fmod(sum, 1024.0f);
}

int main() {
    std::vector<float> in(SIZE);
    for (int i = 0; i < SIZE; ++i) in[i] = float(i * 7 % 16);
    Buffer<float> from(in), to(64);
    run<<<1, 64>>>(from.data, to.data);
    auto got = to.read();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += got[i] != reference(in.data(), i, 1);
    expect("values wrong", wrong, 0);
    expect_near("first", got[0], reference(in.data(), 0, 1), 0);
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, run));
    expect("uses at most 32 registers", attributes.numRegs <= 32, 1);
    expect("uses local memory", attributes.localSizeBytes > 0, 1);
    return verdict();
}
