// A kernel that needs a function, a variable and a constant of another object.
extern __device__ float factors[4];
extern __constant__ float amount;
__device__ float combine(float x, int i);

extern "C" __global__ void scale(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = combine(i * factors[i % 4], i) + amount;
}
