extern __device__ int arr[20];
__global__ void kb(int *p) { *p = arr[*p]; }
