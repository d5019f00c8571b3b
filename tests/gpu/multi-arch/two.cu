__device__ int times_two(int x) { return 2 * x; }
