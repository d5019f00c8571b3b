// Kernels that launch kernels, allocate, print and assert: calls into the device runtime.
#include <assert.h>
#include <stdio.h>
__global__ void child(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= 2; }
__global__ void parent(float *a, int n, int d) { if (threadIdx.x == 0 && d > 0) { child<<<(n + 127) / 128, 128>>>(a, n); parent<<<1, 32, 0, cudaStreamTailLaunch>>>(a, n / 2, d - 1); } }
__global__ void quick(int *a, int l, int r) { int i = l, j = r, p = a[(l + r) / 2]; while (i <= j) { while (a[i] < p) i++; while (a[j] > p) j--; if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; } } if (l < j) quick<<<1, 1, 0, cudaStreamFireAndForget>>>(a, l, j); if (i < r) quick<<<1, 1, 0, cudaStreamFireAndForget>>>(a, i, r); }
__global__ void list(int **out, int n) { int *p = static_cast<int *>(malloc(n * sizeof(int))); if (p) { for (int i = 0; i < n; i++) p[i] = i; memcpy(p + n / 2, p, n); } out[threadIdx.x] = p; }
__global__ void release(int **a) { free(a[threadIdx.x]); }
__global__ void say(const float *a) { printf("%d %f %s\n", threadIdx.x, a[threadIdx.x], "x"); }
__global__ void check(const int *a, int n) { assert(a[threadIdx.x] < n); if (a[threadIdx.x] == 77) __trap(); }
__global__ void info(int *o) { int d = 0; cudaGetDevice(&d); cudaDeviceGetAttribute(o, cudaDevAttrWarpSize, d); cudaMemsetAsync(o + 4, 0, 64, cudaStreamFireAndForget); cudaMemcpyAsync(o, o + 8, 16, cudaMemcpyDeviceToDevice, cudaStreamFireAndForget); }
__device__ __noinline__ float apply(float x, int k) { return k ? apply(x * 1.5f, k - 1) + x : x; }
__global__ void recurse(float *a) { a[threadIdx.x] = apply(a[threadIdx.x], threadIdx.x & 7); }
typedef float (*Fn)(float); __device__ float f0(float x) { return sinf(x); } __device__ float f1(float x) { return x / 3; } __device__ Fn table[] = {f0, f1};
__global__ void indirect(float *a, int k) { a[threadIdx.x] = table[k](a[threadIdx.x]); }
struct Shape { __device__ virtual float area() const = 0; }; struct Box : Shape { float a; __device__ float area() const override { return a * a; } }; struct Disc : Shape { float r; __device__ float area() const override { return r * r * 3; } };
__global__ void make(Shape **s) { if (threadIdx.x & 1) s[threadIdx.x] = new Box; else s[threadIdx.x] = new Disc; } __global__ void areas(Shape **s, float *o) { o[threadIdx.x] = s[threadIdx.x]->area(); }
__global__ void math(double *a, float *b) { int t = threadIdx.x; a[t] = pow(a[t], 1.5) + sin(a[t]) / exp(a[t]) + lgamma(a[t]) + fmod(a[t], 2.0) + erf(a[t]); b[t] = powf(b[t], 2.5f) + tanf(b[t]) + j0f(b[t]) + cbrtf(b[t]) + b[t] / b[t + 1]; }
