__constant__ int B[9000]; __constant__ int S2[12];
extern "C" __global__ void kb(int *p) { *p = B[threadIdx.x]; }
extern "C" __global__ void kt(int *p) { *p = S2[threadIdx.x]; }
