#include "matrix.h"
__device__ int from_first(int n) {
    Matrix<int, 2> m{{{1, 1}, {1, 0}}};
    return m.times(m).trace() + power(3, n) + next<int>();
}
void bump_first(int* out) { bump<float><<<1, 32>>>(out); }
