// Functions of the driver, asked of the runtime, so that programs need no link with the driver's library.
#pragma once

#include "check.h"

#include <cuda.h>

// Ends the program when a call of the driver fails.
#define DRIVER(call)                                                                   \
    do {                                                                               \
        CUresult result_ = (call);                                                     \
        if (result_ != CUDA_SUCCESS) {                                                 \
            std::printf("FAIL %s: error %d\n", #call, int(result_));                   \
            std::exit(1);                                                              \
        }                                                                              \
    } while (0)

// The function of this name, as of CUDA 13.
inline void* driver_function(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    CUDA(cudaGetDriverEntryPointByVersion(name, &function, 13000, cudaEnableDefault, &found));
    if (!function) {
        std::printf("FAIL the driver has no %s\n", name);
        std::exit(1);
    }
    return function;
}

#define FUNCTION(name) static const auto name##_ = reinterpret_cast<decltype(&name)>(driver_function(#name))

// The bytes of a file.
inline std::vector<char> read_file(const char* path) {
    std::vector<char> bytes;
    if (std::FILE* file = std::fopen(path, "rb")) {
        char block[65536];
        for (size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) bytes.insert(bytes.end(), block, block + n);
        std::fclose(file);
    }
    if (bytes.empty()) {
        std::printf("FAIL cannot read %s\n", path);
        std::exit(1);
    }
    return bytes;
}
