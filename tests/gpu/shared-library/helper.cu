__device__ int state = 5;
__device__ int helper(int x) { return x + 10; }
