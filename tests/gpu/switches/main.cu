#include "../check.h"
#include "machine.h"

__global__ void run(const unsigned char* code, int length, unsigned* out) {
    out[threadIdx.x] = interpret(code, length, threadIdx.x + 1, 17);
}

__global__ void literals(double* out) { out[threadIdx.x] = blend(threadIdx.x, 1.5); }

int main() {
    std::vector<unsigned char> code;
    for (int i = 0; i < 64; ++i) code.push_back((unsigned char)(i * 5 % 17));
    Buffer<unsigned char> text(code);
    Buffer<unsigned> out(32);
    run<<<1, 32>>>(text.data, int(code.size()), out.data);
    auto got = out.read();
    int wrong = 0;
    unsigned last = 0;
    for (unsigned t = 0; t < 32; ++t) {
        unsigned a = t + 1, b = 17;
        for (unsigned char op : code) {
            unsigned next = step(op, a, b);
            b = a;
            a = next;
        }
        wrong += got[t] != a;
        last = a;
    }
    expect("programs wrong", wrong, 0);
    expect("last result", got[31], last);

    Buffer<double> values(7);
    literals<<<1, 7>>>(values.data);
    auto v = values.read();
    const double x = 1.5;
    const double want[7] = {x * 1.2345678901234567 + 0.98765432109876543, x * x * 3.3333333333333335 - 1e-300,
        1e300 / (x + 2.7182818284590452), x - 6.02214076e23, x * 1.380649e-23, (x + 0.1) * (x + 0.2) * (x + 0.3), -x};
    for (int i = 0; i < 7; ++i) expect_near("blend / want", v[i] / want[i], 1, 1e-15);
    return verdict();
}
