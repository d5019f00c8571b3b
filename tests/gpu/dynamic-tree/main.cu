#include "../check.h"
#include "tree.h"

__device__ int visits[LEVELS];

int main() {
    even<<<1, 1>>>(0);
    finish_kernels();
    int got[LEVELS];
    CUDA(cudaMemcpyFromSymbol(got, visits, sizeof got));
    int wrong = 0;
    for (int level = 0; level < LEVELS; ++level) wrong += got[level] != 1 << level;
    expect("levels wrong", wrong, 0);
    expect("leaves", got[LEVELS - 1], 1 << (LEVELS - 1));
    return verdict();
}
