#include "../check.h"
#include "settings.h"

__global__ void run(int* out) {
    for (int i = 0; i < 4; ++i) out[i] = table[i] * scale + offset;
    result = out[3];
}

int main() {
    int values[4] = {1, 2, 3, 4}, factor = 10, got = 0;
    CUDA(cudaMemcpyToSymbol(table, values, sizeof values));
    CUDA(cudaMemcpyToSymbol(scale, &factor, sizeof factor));
    set_offset(7);
    Buffer<int> out(4);
    run<<<1, 1>>>(out.data);
    expect("kernel", out.read()[0], 17);
    CUDA(cudaMemcpyFromSymbol(&got, result, sizeof got));
    expect("result", got, 47);
    CUDA(cudaMemcpyFromSymbol(&got, table, sizeof got, 2 * sizeof(int)));
    expect("element", got, 3);
    expect("through another file", read_offset(), 7);

    void* address = nullptr;
    size_t size = 0;
    CUDA(cudaGetSymbolAddress(&address, table));
    CUDA(cudaGetSymbolSize(&size, table));
    expect("size", size, 16);
    values[1] = 99;
    CUDA(cudaMemcpy(address, values, sizeof values, cudaMemcpyHostToDevice));
    run<<<1, 1>>>(out.data);
    expect("through the address", out.read()[1], 997);
    return verdict();
}
