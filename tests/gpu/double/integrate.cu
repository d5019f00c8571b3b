#include "functions.h"
typedef double (*Function)(double);
static __device__ double square(double x) { return x * x; }
// Simpson's rule; exact for a parabola
static __device__ __noinline__ double simpson(Function f, double a, double b, int n) {
    double h = (b - a) / n, sum = f(a) + f(b);
    for (int i = 1; i < n; ++i) sum += f(a + i * h) * (i % 2 ? 4 : 2);
    return sum * h / 3;
}
__device__ double integrate(double x) { return simpson(square, 0, x, 16); }
