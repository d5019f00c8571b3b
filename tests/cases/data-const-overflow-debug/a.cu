__constant__ int A[9000]; __constant__ int S1[10];
extern "C" __global__ void ka(int *p) { *p = A[threadIdx.x]; }
extern "C" __global__ void ks(int *p) { *p = S1[threadIdx.x]; }
