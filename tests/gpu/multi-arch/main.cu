#include "../check.h"

__device__ int own_arch();
__device__ int times_two(int);

__global__ void run(int* out) {
    out[0] = own_arch();
    out[1] = times_two(21);
}

int main() {
    Buffer<int> out(2);
    run<<<1, 1>>>(out.data);
    auto got = out.read();
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    // code for the device itself is preferred
    int number = properties.major * 100 + properties.minor * 10;
    expect("architecture of the code", got[0], number == 900 ? 900 : 800);
    expect("times two", got[1], 42);
    return verdict();
}
