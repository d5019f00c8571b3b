#include "../check.h"
#include "products.h"

__global__ void run(const half* a, const half* b, float* out) { half_product(a, b, out); }

__global__ void precise(const double* a, const double* b, double* out) { double_product(a, b, out); }

int main() {
    std::vector<half> a(256), b(256);
    std::vector<double> c(32), d(32);
    for (int i = 0; i < 256; ++i) {
        a[i] = half(float(i % 7 - 3));
        b[i] = half(float(i % 5 - 2));
    }
    for (int i = 0; i < 32; ++i) {
        c[i] = i * 0.25;
        d[i] = 8 - i * 0.5;
    }
    Buffer<half> left(a), right(b);
    Buffer<double> precise_left(c), precise_right(d), precise_out(64);
    Buffer<float> out(256);
    run<<<1, 32>>>(left.data, right.data, out.data);
    precise<<<1, 32>>>(precise_left.data, precise_right.data, precise_out.data);
    auto got = out.read();
    auto exact = precise_out.read();
    int wrong = 0;
    for (int m = 0; m < 16; ++m)
        for (int n = 0; n < 16; ++n) {
            float sum = 0;
            for (int k = 0; k < 16; ++k) sum += float(a[m * 16 + k]) * float(b[k * 16 + n]);
            wrong += got[m * 16 + n] != sum;
        }
    expect("half values wrong", wrong, 0);
    wrong = 0;
    for (int m = 0; m < 8; ++m)
        for (int n = 0; n < 8; ++n) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) sum += c[m * 4 + k] * d[k * 8 + n];
            wrong += exact[m * 8 + n] != sum;
        }
    expect("double values wrong", wrong, 0);
    return verdict();
}
