#include "../check.h"
#include "list.h"

__global__ void build(List** lists) {
    int i = threadIdx.x;
    lists[i] = new List;
    for (int k = 0; k <= i; ++k) push(lists[i], k * k);
}

__global__ void use(List** lists, int* out) {
    int i = threadIdx.x;
    out[i] = sum(lists[i]);
    int* copy = flatten(lists[i]);
    out[32 + i] = copy[0] + copy[i];
    free(copy);
    destroy(lists[i]);
}

int main() {
    CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 8 << 20));
    Buffer<List*> lists(32);
    Buffer<int> out(64);
    build<<<1, 32>>>(lists.data);
    use<<<1, 32>>>(lists.data, out.data);
    auto got = out.read();
    int wrong = 0, want = 0;
    for (int i = 0; i < 32; ++i) {
        want += i * i;
        wrong += got[i] != want;
        wrong += got[32 + i] != i * i;
    }
    expect("values wrong", wrong, 0);
    expect("last sum", got[31], 10416);
    return verdict();
}
