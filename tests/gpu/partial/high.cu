__device__ int low(int);
extern __device__ int* pointer;
__device__ int high(int x) { return low(x) * *pointer; }
