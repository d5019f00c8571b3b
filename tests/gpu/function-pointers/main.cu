#include "../check.h"
#include "ops.h"

__global__ void run(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = apply(operations[i % 4], in[i]);
}

__global__ void choose(Operation* out) { *out = pick(2); }

__global__ void call(Operation op, float* out) { *out = op(5.0f); }

int main() {
    const int n = 256;
    std::vector<float> in(n);
    for (int i = 0; i < n; ++i) in[i] = float(i);
    Buffer<float> from(in), to(n);
    run<<<2, 128>>>(from.data, to.data, n);
    auto got = to.read();
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        float x = float(i), want[4] = {x + 1, x * x, -x, x / 2};
        wrong += got[i] != want[i % 4];
    }
    expect("values wrong", wrong, 0);

    // a pointer that goes through the host
    Buffer<Operation> picked(1);
    choose<<<1, 1>>>(picked.data);
    Buffer<float> result(1);
    call<<<1, 1>>>(picked.read()[0], result.data);
    expect_near("by way of the host", result.read()[0], -5.0, 0);
    return verdict();
}
