#include "pool.h"
extern __shared__ unsigned char bytes[];
__device__ int read_bytes(int i) { return bytes[8 * i + 7]; }
