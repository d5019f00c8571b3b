#include "../driver.h"

int main(int, char** arguments) {
    CUDA(cudaFree(nullptr));
    FUNCTION(cuLibraryLoadData);
    FUNCTION(cuLibraryGetKernel);
    FUNCTION(cuLibraryGetKernelCount);
    FUNCTION(cuLibraryGetGlobal);
    FUNCTION(cuKernelGetAttribute);
    FUNCTION(cuLaunchKernel);
    FUNCTION(cuLibraryUnload);
    auto image = read_file(arguments[1]);
    CUlibrary library;
    CUkernel reduce;
    CUdeviceptr operators;
    size_t size;
    unsigned kernels;
    DRIVER(cuLibraryLoadData_(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    DRIVER(cuLibraryGetKernelCount_(&kernels, library));
    expect("kernels", kernels, 2);
    DRIVER(cuLibraryGetKernel_(&reduce, library, "reduce"));
    DRIVER(cuLibraryGetGlobal_(&operators, &size, library, "operators"));
    expect("size of the table of operators", size, 24);
    int shared = 0;
    DRIVER(cuKernelGetAttribute_(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, reduce, 0));
    expect("shared memory", shared, 1024);

    std::vector<int> in(256);
    for (int i = 0; i < 256; ++i) in[i] = i * 31 % 257;
    Buffer<int> from(in), to(3);
    for (int op = 0; op < 3; ++op) {
        int* out = to.data + op;
        void* parameters[] = {&from.data, &out, &op};
        DRIVER(cuLaunchKernel_((CUfunction)reduce, 1, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
    }
    auto got = to.read();
    int sum = 0, least = in[0], most = in[0];
    for (int value : in) {
        sum += value;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    expect("sum", got[0], sum);
    expect("least", got[1], least);
    expect("most", got[2], most);
    DRIVER(cuLibraryUnload_(library));
    return verdict();
}
