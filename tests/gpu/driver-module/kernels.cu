extern "C" __device__ float factors[4];
__device__ float shift(float x);
__device__ int bin_of(int i);

extern "C" __global__ void scale(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = shift(i * factors[i % 4]);
}

extern "C" __global__ void histogram(int* out, int n) {
    extern __shared__ int bins[];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < n) atomicAdd(&bins[bin_of(threadIdx.x)], 1);
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
