__device__ int helper(int);
extern __device__ int state;
static __global__ void kernel(int* out) { *out = helper(1) + state; }
__attribute__((visibility("default"))) void plugin_run(int* out) { kernel<<<1, 1>>>(out); }
