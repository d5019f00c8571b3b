#include "shapes.h"
typedef int (*Step)(int);
static __device__ int half(int x) { return x / 2; }
__device__ Step own_table[3] = {core_step, half, core_step};
__global__ void through_tables(int* out, int i) { out[0] = own_table[i](out[1]) + core_table[i & 3](out[2]); }
struct Ops {
    Step steps[2];
    const char* name;
};
__constant__ Ops ops = {{half, core_step}, "operations"};
__global__ void through_ops(int* out, int i) {
    out[0] = ops.steps[i](out[1]);
    out[1] = ops.name[i];
}
