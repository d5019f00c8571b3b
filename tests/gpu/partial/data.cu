__device__ int two = 2;
__device__ int* pointer = &two;
__device__ int shared_table[4] = {100, 200, 300, 400};
