// Derived classes, called through the base class of another file.
#include "parts.h"

struct Square : Shape {
    __device__ int area(int n) const override { return n * n; }
    __device__ int edges() const override { return 4; }
};
struct Triangle : Shape {
    __device__ int edges() const override { return 3; }
};

__global__ void shapes(int *p) {
    Square square;
    Triangle triangle;
    const Shape &shape = *p > 3 ? static_cast<const Shape &>(square) : triangle;
    p[1] = measure(shape, p[2]);
}

void shapes_on_host(int *p) { shapes<<<1, 1>>>(p); }
