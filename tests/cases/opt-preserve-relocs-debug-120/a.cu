// Shared variables that debug information names.
__shared__ int table[32];

__device__ __noinline__ int shuffle(int v)
{
    __shared__ int scratch[32];
    scratch[threadIdx.x] = v + table[v & 31];
    __syncthreads();
    return scratch[(threadIdx.x + 1) & 31];
}

extern __device__ int other(int v);

__global__ void kernel(int *out)
{
    __shared__ int own[8];
    own[threadIdx.x & 7] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = shuffle(own[(threadIdx.x + 1) & 7]) + other(threadIdx.x);
}
