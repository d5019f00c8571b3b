#include "shapes.h"
__managed__ int counter = 3;
__managed__ double state[4];
static __device__ int local_state[5] = {1, 2, 3};
namespace { __device__ __noinline__ int hidden(int x) { return x + local_state[x & 3]; } }
__global__ void __launch_bounds__(128, 2) use_managed() { counter += hidden(static_cast<int>(state[threadIdx.x & 3])) + shared_counter; }
