#include "../check.h"
#include "parts.h"

__global__ void run(int* out) { out[threadIdx.x] = used(threadIdx.x); }

int main() {
    Buffer<int> out(32);
    run<<<1, 32>>>(out.data);
    expect("by a function", out.read()[31], 31 * 5 + 2);
    launch_used(out.data);
    expect("by a kernel of the library", out.read()[31], 31 + 2);
    return verdict();
}
