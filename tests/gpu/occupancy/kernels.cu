// Kernels with many register counts, static shared sizes and barriers, and what the runtime says about their occupancy.
//
// Prints CSV: kernel, registers, static shared bytes, dynamic shared bytes, threads per block, blocks per multiprocessor.
#include <cstdio>
#include <cuda_runtime.h>

// A loop that keeps about REGISTERS values alive; launch bounds keep the compiler from using more.
template <int LIVE, int SHARED>
__global__ void live(float *p, int n) {
    __shared__ float tile[SHARED / 4 + 1];
    float v[LIVE];
#pragma unroll
    for (int i = 0; i < LIVE; i++) v[i] = p[i * n + threadIdx.x];
    if (SHARED) tile[threadIdx.x % (SHARED / 4 + 1)] = v[0];
    __syncthreads();
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int i = 0; i < LIVE; i++) v[i] = v[i] * v[(i + 1) % LIVE] + tile[(k + i) % (SHARED / 4 + 1)];
    }
#pragma unroll
    for (int i = 0; i < LIVE; i++) p[i * n + threadIdx.x] = v[i];
}

// Waits at the barriers 0 to N - 1.
template <int N>
__device__ __forceinline__ void wait_at(int *p) {
    if constexpr (N > 0) {
        wait_at<N - 1>(p);
        p[threadIdx.x + N] += N;
        asm volatile("bar.sync %0, %1;" ::"n"(N - 1), "r"(blockDim.x) : "memory");
    }
}

template <int BARRIERS>
__global__ void barriers(int *p) { wait_at<BARRIERS>(p); }

template <int MOST>
__global__ void __launch_bounds__(MOST) bounded(float *p) { p[threadIdx.x] = sqrtf(p[threadIdx.x]); }

extern "C" __global__ void dynamic(float *p) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

static int most;

static void row(const char *name, const void *kernel, int block, int bytes) {
    cudaFuncAttributes a;
    if (cudaFuncGetAttributes(&a, kernel) != cudaSuccess) { printf("error %s\n", name); return; }
    if ((size_t)bytes + a.sharedSizeBytes > (size_t)most) return;
    // More than 48 KiB is allowed only on request.
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most - (int)a.sharedSizeBytes) != cudaSuccess) { printf("error %s\n", name); return; }
    int blocks = -1;
    cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, bytes);
    cudaGetLastError();
    printf("%s,%d,%zu,%d,%d,%d\n", name, a.numRegs, a.sharedSizeBytes, bytes, block, e == cudaSuccess ? blocks : 0);
}

static void rows(const char *name, const void *kernel) {
    const int blocks[] = {1, 32, 33, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 448, 512, 576, 640, 672, 704, 768, 832, 896, 960, 992, 1024};
    const int sizes[] = {0, 1, 127, 1024, 8192, 16000, 40000, 65536, 101376, 150000, 200000, 232448};
    for (int block : blocks) for (int bytes : sizes) row(name, kernel, block, bytes);
}

#define LIVE(N, S) rows("live<" #N "," #S ">", (const void *)live<N, S>);
#define LIVES(N) LIVE(N, 0) LIVE(N, 400) LIVE(N, 4096) LIVE(N, 16384) LIVE(N, 33000)
#define BARRIERS(N) rows("barriers<" #N ">", (const void *)barriers<N>);
#define BOUNDED(N) rows("bounded<" #N ">", (const void *)bounded<N>);

int main() {
    cudaDeviceProp d;
    if (cudaGetDeviceProperties(&d, 0) != cudaSuccess) { printf("no device\n"); return 1; }
    most = (int)d.sharedMemPerBlockOptin;
    printf("# sm_%d%d\n", d.major, d.minor);
    LIVES(4) LIVES(8) LIVES(16) LIVES(24) LIVES(32) LIVES(48) LIVES(64) LIVES(96) LIVES(128) LIVES(160) LIVES(200)
    BARRIERS(1) BARRIERS(2) BARRIERS(3) BARRIERS(4) BARRIERS(8) BARRIERS(16)
    BOUNDED(32) BOUNDED(96) BOUNDED(128) BOUNDED(256) BOUNDED(512) BOUNDED(1024)
    rows("dynamic", (const void *)dynamic);
    return 0;
}
