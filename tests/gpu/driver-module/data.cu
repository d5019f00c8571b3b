extern "C" {
__device__ float factors[4];
}
__constant__ float amount = 0.5f;
