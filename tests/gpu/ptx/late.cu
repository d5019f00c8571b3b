__device__ int early(int);
__device__ int late_data[3] = {7, 14, 21};
__device__ int late(int x) { return early(x) * early(x); }
