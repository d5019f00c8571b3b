// Loads a linked cubin, runs its five kernels and prints what they wrote.
#include "../driver.h"

static CUmodule module;

template <class Launch> static std::vector<int> run(const char* name, unsigned dynamic, Launch launch) {
    FUNCTION(cuModuleGetFunction);
    CUfunction kernel;
    DRIVER(cuModuleGetFunction_(&kernel, module, name));
    Buffer<int> out(32);
    void* arguments[] = {&out.data};
    launch(kernel, dynamic, arguments);
    CUDA(cudaDeviceSynchronize());
    auto values = out.read();
    printf("%s:", name);
    for (int value : values) printf(" %d", value);
    printf("\n");
    return values;
}

template <class Expected> static void check(const char* name, const std::vector<int>& got, Expected expected) {
    int wrong = 0;
    for (int i = 0; i < 32; ++i) wrong += got[i] != expected(i);
    expect(name, wrong, 0);
}

int main(int, char** arguments) {
    CUDA(cudaFree(nullptr));
    FUNCTION(cuModuleLoadData);
    FUNCTION(cuModuleGetGlobal);
    FUNCTION(cuModuleGetTexRef);
    FUNCTION(cuTexRefSetAddress);
    FUNCTION(cuTexRefSetFormat);
    FUNCTION(cuTexRefSetFlags);
    FUNCTION(cuLaunchKernel);
    auto image = read_file(arguments[1]);
    DRIVER(cuModuleLoadData_(&module, image.data()));
    auto launch = [&](CUfunction kernel, unsigned dynamic, void** values) {
        DRIVER(cuLaunchKernel_(kernel, 1, 1, 1, 32, 1, 1, dynamic, nullptr, values, nullptr));
    };
    const int table[8] = {11, 22, 33, 44, 55, 66, 77, 88};
    check("calls", run("calls", 0, launch), [&](int i) { return (2 * i + 33) * 3; });
    check("pointers", run("pointers", 0, launch), [](int i) { return i % 2 ? i * i : 2 * i; });
    check("constants", run("constants", 0, launch), [&](int i) { return table[i % 8]; });
    check("memories", run("memories", 128, launch), [](int i) { return 3 * i + 107; });

    CUdeviceptr counter;
    size_t size;
    int count;
    DRIVER(cuModuleGetGlobal_(&counter, &size, module, "counter"));
    CUDA(cudaMemcpy(&count, (void*)counter, size, cudaMemcpyDeviceToHost));
    expect("counter", count, 1032);

    Buffer<int> pixels(32);
    int host[32];
    for (int i = 0; i < 32; ++i) host[i] = 5000 - i;
    CUDA(cudaMemcpy(pixels.data, host, sizeof host, cudaMemcpyHostToDevice));
    CUtexref picture;
    size_t offset;
    DRIVER(cuModuleGetTexRef_(&picture, module, "picture"));
    DRIVER(cuTexRefSetFormat_(picture, CU_AD_FORMAT_SIGNED_INT32, 1));
    DRIVER(cuTexRefSetFlags_(picture, CU_TRSF_READ_AS_INTEGER));
    DRIVER(cuTexRefSetAddress_(&offset, picture, (CUdeviceptr)pixels.data, sizeof host));
    check("textures", run("textures", 0, launch), [](int i) { return 5000 - i; });
    return verdict();
}
