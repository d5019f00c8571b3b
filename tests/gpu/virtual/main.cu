#include "../check.h"
#include "shape.h"

__global__ void build(Shape** shapes) {
    shapes[0] = make_circle(2.0);
    shapes[1] = make_square(3.0);
    shapes[2] = make_box(2.0, 5.0);
}

__global__ void measure(Shape** shapes, double* out) {
    int i = threadIdx.x;
    out[i] = shapes[i]->area();
    out[3 + i] = shapes[i]->sides() + total(shapes, i);
}

__global__ void clear(Shape** shapes, int* out) {
    for (int i = 0; i < 3; ++i) delete shapes[i];
    *out = destroyed;
}

int main() {
    Buffer<Shape*> shapes(3);
    Buffer<double> out(6);
    Buffer<int> gone(1);
    build<<<1, 1>>>(shapes.data);
    measure<<<1, 3>>>(shapes.data, out.data);
    clear<<<1, 1>>>(shapes.data, gone.data);
    auto got = out.read();
    const double pi = 3.14159265358979;
    expect_near("circle", got[0], 4 * pi, 1e-12);
    expect_near("square", got[1], 9, 0);
    expect_near("box", got[2], 10, 0);
    expect_near("circle sides", got[3], 0, 0);
    expect_near("square sides and circle", got[4], 4 + 4 * pi, 1e-12);
    expect_near("box sides and both", got[5], 4 + 4 * pi + 9, 1e-12);
    expect("destroyed", gone.read()[0], 3);
    return verdict();
}
