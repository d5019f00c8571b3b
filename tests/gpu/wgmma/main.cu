#include "../check.h"
#include "tile.h"

__global__ void product(const half* a, const half* b, float* out) {
    __shared__ alignas(128) half left[M * K], right[N * K];
    load(left, a, M);
    load(right, b, N);
    __syncthreads();
    Fragment d = multiply(left, right);
    store(out, d);
}

int main() {
    std::vector<half> a(M * K), b(N * K);
    for (int i = 0; i < M * K; ++i) a[i] = half(float(i * 7 % 13 - 6));
    for (int i = 0; i < N * K; ++i) b[i] = half(float(i * 5 % 11 - 5));
    Buffer<half> left(a), right(b);
    Buffer<float> out(M * N);
    product<<<1, 128>>>(left.data, right.data, out.data);
    auto got = out.read();
    int wrong = 0;
    float first = 0;
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += float(a[m * K + k]) * float(b[n * K + k]);
            wrong += got[m * N + n] != sum;
            if (m == 0 && n == 0) first = sum;
        }
    expect("values wrong", wrong, 0);
    expect_near("first", got[0], first, 0);
    return verdict();
}
