static __device__ int state = 1;
static __constant__ int step = 1 * 10;
namespace {
__device__ int secret[2] = {1 * 100, 1 * 1000};
__device__ __noinline__ int hidden(int x) { return x * step + secret[x % 2]; }
}
static __device__ __noinline__ int advance(int x) {
    static __device__ int calls = 0;
    return hidden(x) + atomicAdd(&state, 1) + ++calls;
}
static __global__ void kernel(int* out) { *out = advance(1); }
__device__ int advance_one(int x) { return advance(x); }
void launch_one(int* out) { kernel<<<1, 1>>>(out); }
