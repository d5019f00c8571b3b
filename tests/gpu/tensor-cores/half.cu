#include "products.h"
#include <mma.h>
using namespace nvcuda::wmma;
__device__ void half_product(const half* a, const half* b, float* out) {
    fragment<matrix_a, 16, 16, 16, half, row_major> left;
    fragment<matrix_b, 16, 16, 16, half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(left, a, 16);
    load_matrix_sync(right, b, 16);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(out, sum, 16, mem_row_major);
}
