// The same unnamed-namespace and static names as managed.cu.
#include "shapes.h"
static __device__ int local_state[5] = {9, 8, 7};
namespace { __device__ __noinline__ int hidden(int x) { return x * local_state[x & 3]; } }
static __global__ void inner(int* out) { out[0] = hidden(out[1]); }
__global__ void __launch_bounds__(64) use_hidden(int* out) { out[0] = hidden(out[1]) + Tile<int, 4>{{1, 2, 3, out[0]}}.sum(); }
void* reference() { return reinterpret_cast<void*>(inner); }
