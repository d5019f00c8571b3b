#include "../check.h"
#include "small.h"

__global__ void run(float* out) {
    int i = threadIdx.x;
    half2 pair = combine(__floats2half2_rn(i, i + 1), __float2half2_rn(2.0f));
    out[2 * i] = __low2float(pair);
    out[2 * i + 1] = __high2float(pair);
    out[64 + i] = __bfloat162float(brain(__float2bfloat16(float(i))));
    out[96 + i] = __half2float(root(__int2half_rn(i * i)));
}

int main() {
    Buffer<float> out(128);
    run<<<1, 32>>>(out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 32; ++i) {
        wrong += got[2 * i] != 2.0f * i + 0.5f;
        wrong += got[2 * i + 1] != 2.0f * (i + 1) + 0.5f;
        wrong += got[64 + i] != float(i) * 4 - 1;
        wrong += got[96 + i] != float(i);
    }
    expect("values wrong", wrong, 0);
    Buffer<float> total(1);
    largest<<<1, 1>>>(total.data);
    expect_near("largest half", total.read()[0], 65504, 0);
    return verdict();
}
