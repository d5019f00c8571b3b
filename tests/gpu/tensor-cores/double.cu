#include "products.h"
#include <mma.h>
using namespace nvcuda::wmma;
__device__ void double_product(const double* a, const double* b, double* out) {
    fragment<matrix_a, 8, 8, 4, double, row_major> left;
    fragment<matrix_b, 8, 8, 4, double, row_major> right;
    fragment<accumulator, 8, 8, 4, double> sum;
    fill_fragment(sum, 0.0);
    load_matrix_sync(left, a, 4);
    load_matrix_sync(right, b, 8);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(out, sum, 8, mem_row_major);
}
