__device__ float c_helper(float x) { return x + 1.0f; }
