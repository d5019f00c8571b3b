#pragma once
enum { WIDTH = 40, SIZE = 97, LEVELS = 6 };
__device__ float level1(const float* in, int i);
__device__ float level2(const float* in, int i);
__device__ float level3(const float* in, int i);
__device__ float level4(const float* in, int i);
__device__ float level5(const float* in, int i);
__device__ float level6(const float* in, int i);

__device__ inline float bottom(const float*, int) { return 1.0f; }

// Holds WIDTH values over the call of the next level.
#define LEVEL(number, next)                                                                \
    __device__ float level##number(const float* in, int i) {                               \
        float keep[WIDTH], sum = 0;                                                        \
        _Pragma("unroll") for (int k = 0; k < WIDTH; ++k)                                  \
            keep[k] = in[(i + k * number) % SIZE] + float(number);                         \
        float deeper = next(in, i + number);                                               \
        _Pragma("unroll") for (int k = 0; k < WIDTH; ++k)                                  \
            sum += keep[k] * float((k + number) % 3) + deeper;                             \
        return fmodf(sum, 1024.0f);                                                        \
    }
