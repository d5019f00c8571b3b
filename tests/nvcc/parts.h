// What the files of the nvcc programs share. Every program is some of the .cu files beside this one; see xtask/src/nvcc/programs.rs.
#pragma once

__device__ int scale(int x);
__device__ int fold(const int *p, int n);
extern __device__ int counter;
extern __constant__ int weights[8];

template <class T> __device__ __noinline__ T blend(T a, T b) { return a * b + a; }

struct Shape {
    __device__ virtual int area(int n) const;
    __device__ virtual int edges() const = 0;
};
__device__ int measure(const Shape &shape, int n);

using Operation = int (*)(int);
extern __device__ Operation operations[3];
