#include "../check.h"

__device__ int late(int);
extern __device__ int late_data[3];

__device__ int early(int x) { return x + 1; }

__global__ void run(int* out) { out[threadIdx.x] = late(threadIdx.x) + late_data[threadIdx.x % 3]; }

int main() {
    Buffer<int> out(30);
    run<<<1, 30>>>(out.data);
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 30; ++i) wrong += got[i] != (i + 1) * (i + 1) + (i % 3 + 1) * 7;
    expect("values wrong", wrong, 0);
    expect("last", got[29], 921);
    return verdict();
}
