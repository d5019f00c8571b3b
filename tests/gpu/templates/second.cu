#include "matrix.h"
__device__ int from_second(int n) {
    Matrix<int, 2> m{{{2, 0}, {0, 3}}};
    return m.times(m).trace() + power(2, n) + next<int>();
}
void bump_second(int* out) { bump<float><<<1, 32>>>(out); }
