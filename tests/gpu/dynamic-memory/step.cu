#include "parts.h"

__device__ void step(int which, int* out) {
    if (which == 0) cudaMemsetAsync(out, 1, 10 * sizeof(int), 0);
    if (which == 1) child<<<1, 10>>>(out);
    if (which == 2) cudaMemcpyAsync(out + 10, out, 10 * sizeof(int), cudaMemcpyDeviceToDevice, 0);
}
