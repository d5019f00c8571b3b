extern __constant__ float amount;
__device__ float shift(float x) { return x + amount; }
__device__ int bin_of(int i) { return i * 5 % 8; }
