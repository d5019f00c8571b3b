// Loads bare cubins through the driver, times that, and prints what the driver says about their kernels.
//
// Arguments: cubins. Output, one line per fact:
//   load PATH MICROSECONDS         median of several cuModuleLoadData
//   library PATH KERNELS           after cuLibraryLoadData
//   kernel PATH NAME REGISTERS SHARED CONSTANT LOCAL MAX_THREADS
//   error PATH TEXT
#include "../driver.h"

#include <algorithm>
#include <chrono>

enum { ROUNDS = 11 };

static bool good(const char* path, const char* call, CUresult result) {
    if (result != CUDA_SUCCESS) std::printf("error %s %s: %d\n", path, call, int(result));
    return result == CUDA_SUCCESS;
}

static void time_load(const char* path, const void* image) {
    FUNCTION(cuModuleLoadData);
    FUNCTION(cuModuleUnload);
    std::vector<double> times;
    for (int round = 0; round < ROUNDS; ++round) {
        CUmodule module;
        auto start = std::chrono::steady_clock::now();
        if (!good(path, "cuModuleLoadData", cuModuleLoadData_(&module, image))) return;
        std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
        times.push_back(spent.count());
        if (!good(path, "cuModuleUnload", cuModuleUnload_(module))) return;
    }
    std::sort(times.begin(), times.end());
    std::printf("load %s %.0f\n", path, times[ROUNDS / 2]);
}

static void list_kernels(const char* path, const void* image) {
    FUNCTION(cuLibraryLoadData);
    FUNCTION(cuLibraryGetKernelCount);
    FUNCTION(cuLibraryEnumerateKernels);
    FUNCTION(cuKernelGetName);
    FUNCTION(cuKernelGetFunction);
    FUNCTION(cuFuncGetAttribute);
    FUNCTION(cuLibraryUnload);
    CUlibrary library;
    unsigned count = 0;
    if (!good(path, "cuLibraryLoadData", cuLibraryLoadData_(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0))) return;
    if (!good(path, "cuLibraryGetKernelCount", cuLibraryGetKernelCount_(&count, library))) return;
    std::printf("library %s %u\n", path, count);
    std::vector<CUkernel> kernels(count);
    if (count && !good(path, "cuLibraryEnumerateKernels", cuLibraryEnumerateKernels_(kernels.data(), count, library))) return;
    for (CUkernel kernel : kernels) {
        const char* name = "";
        CUfunction function;
        if (!good(path, "cuKernelGetName", cuKernelGetName_(&name, kernel))) return;
        if (!good(path, "cuKernelGetFunction", cuKernelGetFunction_(&function, kernel))) return;
        std::printf("kernel %s %s", path, name);
        for (auto attribute : {CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
                 CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK}) {
            int value = -1;
            CUresult result = cuFuncGetAttribute_(&value, attribute, function);
            std::printf(" %d", result == CUDA_SUCCESS ? value : -1);
        }
        std::printf("\n");
    }
    good(path, "cuLibraryUnload", cuLibraryUnload_(library));
}

int main(int count, char** paths) {
    CUDA(cudaFree(nullptr));
    for (int i = 1; i < count; ++i) {
        auto image = read_file(paths[i]);
        time_load(paths[i], image.data());
        list_kernels(paths[i], image.data());
    }
    return 0;
}
