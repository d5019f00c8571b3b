__constant__ int small[100];
__constant__ int large[16000];
__global__ void use_large(int *p) { *p = large[*p] + small[*p]; }
