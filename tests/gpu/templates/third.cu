#include "matrix.h"
__device__ double from_third(int n) {
    Matrix<double, 3> m{{{0.5, 0, 0}, {0, 0.25, 0}, {0, 0, 2}}};
    return m.times(m).trace() + power(1.5, n) + power(2, n) + next<double>();
}
