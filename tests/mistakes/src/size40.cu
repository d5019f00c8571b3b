__device__ int arr[10] = {1};
__global__ void ka(int *p) { *p = arr[*p]; }
