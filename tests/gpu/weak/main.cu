#include "../check.h"
#include "hooks.h"

__global__ void run(int* out) {
    out[0] = before(1);
    out[1] = after(1);
    out[2] = through_pointer(1);
    out[3] = limit;
    out[4] = use_defaults(1);
}

int main() {
    Buffer<int> out(5);
    run<<<1, 1>>>(out.data);
    auto got = out.read();
    expect("overridden", got[0], 1001);
    expect("default", got[1], 3);
    expect("by pointer", got[2], 1001 + 3);
    expect("variable", got[3], 77);
    expect("from the file with the defaults", got[4], 1001 * 100 + 3 + 77);
    return verdict();
}
