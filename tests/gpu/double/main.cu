#include "../check.h"
#include "functions.h"

__global__ void run(const double* in, double* out, int n) {
    int i = threadIdx.x;
    double x = in[i];
    out[i] = circular(x);
    out[n + i] = exponential(x);
    out[2 * n + i] = special(x);
    out[3 * n + i] = integrate(x);
}

int main() {
    const int n = 64;
    std::vector<double> in(n);
    for (int i = 0; i < n; ++i) in[i] = 0.1 + i * 0.37;
    Buffer<double> from(in), out(4 * n);
    run<<<1, n>>>(from.data, out.data, n);
    auto got = out.read();
    double worst[4] = {};
    for (int i = 0; i < n; ++i) {
        double x = in[i];
        double want[4] = {
            std::sin(x) + std::cos(3 * x) + std::tan(x / 40) + std::atan2(x, 2.0) + std::sin(1e9 * x),
            std::exp(-x) + std::log(x) + std::pow(x, 1.7) + std::cbrt(x) + std::sinh(x / 10),
            std::erf(x / 5) + std::lgamma(x) + std::tgamma(x / 8) + std::cyl_bessel_j(0, x),
            x * x * x / 3,
        };
        for (int k = 0; k < 4; ++k)
            worst[k] = std::fmax(worst[k], std::fabs(got[k * n + i] - want[k]) / std::fmax(1.0, std::fabs(want[k])));
    }
    const char* names[4] = {"circular", "exponential", "special", "integral"};
    for (int k = 0; k < 4; ++k) {
        std::printf("%s of the last = %.12g\n", names[k], got[k * n + n - 1]);
        expect("  right to twelve digits", worst[k] < 1e-12, 1);
    }
    return verdict();
}
