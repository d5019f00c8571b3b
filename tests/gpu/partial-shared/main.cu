#include "../driver.h"

int main(int, char** arguments) {
    CUDA(cudaFree(nullptr));
    FUNCTION(cuModuleLoadData);
    FUNCTION(cuModuleGetFunction);
    FUNCTION(cuLaunchKernel);
    auto image = read_file(arguments[1]);
    CUmodule module;
    CUfunction top;
    DRIVER(cuModuleLoadData_(&module, image.data()));
    DRIVER(cuModuleGetFunction_(&top, module, "top"));
    Buffer<int> out(64);
    void* parameters[] = {&out.data};
    DRIVER(cuLaunchKernel_(top, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += got[i] != (63 - i) * 3 + 5 + i + 1000;
    expect("values wrong", wrong, 0);
    return verdict();
}
