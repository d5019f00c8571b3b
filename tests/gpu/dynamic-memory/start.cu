#include "parts.h"

__device__ void start(int* out) {
    cudaMemsetAsync(out, 1, 10 * sizeof(int), 0);
    child<<<1, 10>>>(out);
    cudaMemcpyAsync(out + 10, out, 10 * sizeof(int), cudaMemcpyDeviceToDevice, 0);
}
