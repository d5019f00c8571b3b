// The host side: threads, dynamic loading, clocks and mathematics, so that every usual library is needed.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <dlfcn.h>
#include <thread>

extern __device__ int step_1(int);
int launch_1(int *p);

__global__ void part_0(int *p) { *p = step_1(*p); }

int main(int count, char **) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int *p = nullptr;
    cudaMalloc(&p, sizeof *p);
    std::thread work([=] {
        part_0<<<1, 1>>>(p);
        launch_1(p);
    });
    work.join();
    void *self = dlopen(nullptr, RTLD_NOW);
    std::printf("%f %d %d\n", std::sin(count + now.tv_nsec), self != nullptr, cudaDeviceSynchronize());
    return 0;
}
