static __device__ int state = 2;
static __constant__ int step = 2 * 10;
namespace {
__device__ int secret[2] = {2 * 100, 2 * 1000};
__device__ __noinline__ int hidden(int x) { return x * step + secret[x % 2]; }
}
static __device__ __noinline__ int advance(int x) {
    static __device__ int calls = 0;
    return hidden(x) + atomicAdd(&state, 1) + ++calls;
}
static __global__ void kernel(int* out) { *out = advance(1); }
__device__ int advance_two(int x) { return advance(x); }
void launch_two(int* out) { kernel<<<1, 1>>>(out); }
