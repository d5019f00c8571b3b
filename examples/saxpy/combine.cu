__constant__ float bias = 0.5f;
__device__ unsigned long long calls;

__device__ __noinline__ float combine(float a, float x, float y) {
    atomicAdd(&calls, 1ull);
    return a * x + y;
}
