#include "../check.h"

__device__ int advance_one(int);
__device__ int advance_two(int);
__device__ int advance_three(int);
void launch_one(int*);
void launch_two(int*);
void launch_three(int*);

static __global__ void kernel(int* out) {
    out[0] = advance_one(2);
    out[1] = advance_two(2);
    out[2] = advance_three(2);
}

int main() {
    Buffer<int> out(6);
    kernel<<<1, 1>>>(out.data);
    launch_one(out.data + 3);
    launch_two(out.data + 4);
    launch_three(out.data + 5);
    auto got = out.read();
    for (int v = 1; v <= 3; ++v) {
        expect("by a call", got[v - 1], 20 * v + 100 * v + v + 1);
        expect("by its own kernel", got[v + 2], 10 * v + 1000 * v + v + 1 + 2);
    }
    return verdict();
}
