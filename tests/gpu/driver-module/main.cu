#include "../driver.h"

int main(int, char** arguments) {
    CUDA(cudaFree(nullptr));
    FUNCTION(cuModuleLoadData);
    FUNCTION(cuModuleGetFunction);
    FUNCTION(cuModuleGetGlobal);
    FUNCTION(cuLaunchKernel);
    FUNCTION(cuModuleUnload);
    auto image = read_file(arguments[1]);
    CUmodule module;
    CUfunction scale, histogram;
    CUdeviceptr factors;
    size_t size;
    DRIVER(cuModuleLoadData_(&module, image.data()));
    DRIVER(cuModuleGetFunction_(&scale, module, "scale"));
    DRIVER(cuModuleGetFunction_(&histogram, module, "histogram"));
    DRIVER(cuModuleGetGlobal_(&factors, &size, module, "factors"));
    expect("size of a variable", size, 16);
    float values[4] = {1, 10, 100, 1000};
    CUDA(cudaMemcpy((void*)factors, values, size, cudaMemcpyHostToDevice));

    Buffer<float> out(64);
    int n = 64;
    void* scale_arguments[] = {&out.data, &n};
    DRIVER(cuLaunchKernel_(scale, 2, 1, 1, 32, 1, 1, 0, nullptr, scale_arguments, nullptr));
    auto got = out.read();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += got[i] != float(i) * values[i % 4] + 0.5f;
    expect("values wrong", wrong, 0);

    Buffer<int> bins(8);
    void* histogram_arguments[] = {&bins.data, &n};
    DRIVER(cuLaunchKernel_(histogram, 1, 1, 1, 64, 1, 1, 8 * sizeof(int), nullptr, histogram_arguments, nullptr));
    auto counts = bins.read();
    wrong = 0;
    for (int count : counts) wrong += count != 8;
    expect("bins wrong", wrong, 0);
    DRIVER(cuModuleUnload_(module));
    return verdict();
}
