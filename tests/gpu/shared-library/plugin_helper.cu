__device__ int state = 7;
__device__ int helper(int x) { return x * 100; }
