// The host side of every program: named numbers, checked and printed, and PASS or FAIL at the end.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

// Ends the program when a call of the runtime fails.
#define CUDA(call)                                                              \
    do {                                                                        \
        cudaError_t error_ = (call);                                            \
        if (error_ != cudaSuccess) {                                            \
            std::printf("FAIL %s: %s\n", #call, cudaGetErrorName(error_));      \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

inline int& failures() {
    static int count = 0;
    return count;
}

// A whole number that must have this value.
inline void expect(const char* what, long long got, long long want) {
    std::printf("%s = %lld%s\n", what, got, got == want ? "" : " WRONG");
    if (got != want) {
        std::printf("  should be %lld\n", want);
        ++failures();
    }
}

// A number that must be this close, in relation to its size.
inline void expect_near(const char* what, double got, double want, double tolerance) {
    bool good = std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want));
    std::printf("%s = %.9g%s\n", what, got, good ? "" : " WRONG");
    if (!good) {
        std::printf("  should be %.9g\n", want);
        ++failures();
    }
}

// Waits for all kernels.
inline void finish_kernels() {
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
}

// Device memory for `count` values, all zero.
template <class T>
struct Buffer {
    T* data = nullptr;
    size_t count;

    explicit Buffer(size_t n) : count(n) {
        CUDA(cudaMalloc(&data, n * sizeof(T)));
        CUDA(cudaMemset(data, 0, n * sizeof(T)));
    }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) {
        CUDA(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(data); }

    // Waits for all kernels and copies the values back.
    std::vector<T> read() const {
        finish_kernels();
        std::vector<T> host(count);
        CUDA(cudaMemcpy(host.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
};

// The verdict; its value is the exit code of the program.
inline int verdict() {
    std::printf(failures() == 0 ? "PASS\n" : "FAIL\n");
    return failures() == 0 ? 0 : 1;
}
