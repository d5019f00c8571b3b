namespace geo { __device__ float helper(int x) { return x; } }
