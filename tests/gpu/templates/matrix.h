#pragma once
template <class T, int N>
struct Matrix {
    T at[N][N];
    __device__ __noinline__ Matrix times(const Matrix& other) const {
        Matrix result;
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                T sum = 0;
                for (int k = 0; k < N; ++k) sum += at[i][k] * other.at[k][j];
                result.at[i][j] = sum;
            }
        return result;
    }
    __device__ __noinline__ T trace() const {
        T sum = 0;
        for (int i = 0; i < N; ++i) sum += at[i][i];
        return sum;
    }
};

template <class T>
__device__ __noinline__ T power(T x, int n) {
    T result = 1;
    for (; n > 0; --n) result *= x;
    return result;
}

// one counter for each T in the whole program
template <class T>
inline __device__ int counter = sizeof(T) * 100;
template <class T>
__device__ __noinline__ int next() {
    return atomicAdd(&counter<T>, 1);
}

template <class T>
__global__ void bump(int* out) {
    __shared__ T scratch[8];
    scratch[threadIdx.x % 8] = T(threadIdx.x % 8);
    __syncthreads();
    if (threadIdx.x == 0) *out = next<T>() + int(scratch[7]);
}

__device__ int from_first(int n);
__device__ int from_second(int n);
__device__ double from_third(int n);
void bump_first(int* out);
void bump_second(int* out);
