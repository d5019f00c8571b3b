#include "steps.h"
struct Weights {
    int at[3];
    __device__ int sum() const { return at[0] + at[1] + at[2]; }
};
static __device__ Weights weights = {{10, 20, 30}};
__device__ int outer(const int* tile, int i) {
    int other = tile[31 - i];
    return inner(tile[i], other) + weights.sum();
}
