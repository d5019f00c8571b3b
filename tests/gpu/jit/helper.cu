__device__ float factors[4] = {1, 10, 100, 1000};
__constant__ float amount = 0.5f;
__device__ float combine(float x, int i) { return x + (i & 1); }
