#include "../check.h"
#include "copy.h"

CUtensorMap make_map(int* data, unsigned width, unsigned height) {
    // asked of the runtime, so that the program needs no link with the driver's library
    void* encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
    CUtensorMap map;
    cuuint64_t size[2] = {width, height}, stride[1] = {width * sizeof(int)};
    cuuint32_t box[2] = {16, 16}, step[2] = {1, 1};
    CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, data,
        size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    expect("tensor map", result, CUDA_SUCCESS);
    return map;
}
