static __device__ int state = 3;
static __constant__ int step = 3 * 10;
namespace {
__device__ int secret[2] = {3 * 100, 3 * 1000};
__device__ __noinline__ int hidden(int x) { return x * step + secret[x % 2]; }
}
static __device__ __noinline__ int advance(int x) {
    static __device__ int calls = 0;
    return hidden(x) + atomicAdd(&state, 1) + ++calls;
}
static __global__ void kernel(int* out) { *out = advance(1); }
__device__ int advance_three(int x) { return advance(x); }
void launch_three(int* out) { kernel<<<1, 1>>>(out); }
