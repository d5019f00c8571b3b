#include <cstdint>
template<class T> __device__ T acc(T a, T b) { return a * b + 1; }
__device__ int table[8] = {1,2,3,4,5,6,7,8};
__constant__ float weights[16];
extern __device__ float other(float);
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }
typedef float (*op)(float);
__device__ op ops[2] = { other, other };
__global__ void work(float *p, int n) { __shared__ float s[64]; int i = threadIdx.x; s[i&63] = p[i] * weights[i & 15]; __syncthreads(); p[i] = acc(s[(i+1)&63], ops[i&1](p[i])) + fib(n & 7) + table[n & 7]; }
