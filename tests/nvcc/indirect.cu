// Calls through the table of another file.
#include "parts.h"

__global__ void dispatch(int *p) { p[threadIdx.x] = operations[p[0] % 3](p[1]); }

void dispatch_on_host(int *p) { dispatch<<<1, 32>>>(p); }
