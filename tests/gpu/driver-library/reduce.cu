typedef int (*Operator)(int, int);
extern "C" __device__ Operator operators[3];

extern "C" __global__ void reduce(const int* in, int* out, int op) {
    __shared__ int values[256];
    values[threadIdx.x] = in[threadIdx.x];
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) values[threadIdx.x] = operators[op](values[threadIdx.x], values[threadIdx.x + step]);
    }
    if (threadIdx.x == 0) *out = values[0];
}

extern "C" __global__ void clear(int* out) { *out = 0; }
