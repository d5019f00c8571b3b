extern __constant__ int arr[10];
__global__ void kc(int *p) { *p = arr[*p]; }
