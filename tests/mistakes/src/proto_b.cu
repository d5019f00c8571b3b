extern "C" __device__ long long protof(long long x, int y) { return x + y; }
