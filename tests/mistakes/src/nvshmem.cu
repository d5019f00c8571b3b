struct State { int pe; };
extern __constant__ State nvshmemi_device_state_d;
__global__ void my_pe(int *p) { *p = nvshmemi_device_state_d.pe; }
