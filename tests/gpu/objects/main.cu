#include "../check.h"
#include "registry.h"

using namespace company::product::module;

__global__ void run(double* out) {
    out[0] = convert(7);
    out[1] = convert(2.5);
    out[2] = convert(Vector<Vector<int, 2>, 2>{{{{1, 2}}, {{3, 4}}}});
    out[3] = registry.entries[1].weight;
    out[4] = serial++;
    out[5] = other_serial();
    out[6] = registry.total();
}

int main() {
    Buffer<double> out(7);
    run<<<1, 1>>>(out.data);
    auto got = out.read();
    expect_near("int", got[0], 700, 0);
    expect_near("double", got[1], 5, 0);
    expect_near("nested vectors", got[2], 1234, 0);
    expect_near("object", got[3], 0.75, 0);
    expect_near("inline variable", got[4], 40, 0);
    expect_near("the same in another file", got[5], 41, 0);
    expect_near("total", got[6], 3.25, 0);
    return verdict();
}
