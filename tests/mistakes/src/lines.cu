extern "C" __device__ float c_helper(float);
extern __device__ int counter;
__device__ int *where = &counter;
__device__ int (*hook)(int);

__device__ __noinline__ float twice(float x) {
    return c_helper(x) * 2
        + c_helper(x + 1);
}

__device__ __noinline__ int factorial(int n) {
    return n < 2 ? 1
                 : n * factorial(n - 1) + 1;
}

__device__ __noinline__ int by_hook(int n) {
    if (n < 2) return 1;
    return hook(n - 1) + 3;
}

__global__ void uses(float *p) {
    p[0] = twice(p[1]) + counter;
}

__global__ void direct(int *p) {
    *p = factorial(*p) + 1;
}

__global__ void hooked(int *p) {
    hook = by_hook;
    *p = by_hook(*p) + 1;
}
