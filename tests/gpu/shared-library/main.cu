#include "../check.h"

__device__ int helper(int);
extern __device__ int state;
void plugin_run(int* out);

__global__ void kernel(int* out) { *out = helper(1) + state; }

int main() {
    Buffer<int> out(2);
    kernel<<<1, 1>>>(out.data);
    plugin_run(out.data + 1);
    auto got = out.read();
    expect("of the program", got[0], 1 + 10 + 5);
    expect("of the library", got[1], 1 * 100 + 7);
    return verdict();
}
