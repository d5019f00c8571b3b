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
    Buffer<int> out(32);
    void* parameters[] = {&out.data};
    DRIVER(cuLaunchKernel_(top, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 32; ++i) wrong += got[i] != (i + i % 4 * 11) * 3 + 1;
    expect("values wrong", wrong, 0);
    expect("last", got[31], 193);
    return verdict();
}
