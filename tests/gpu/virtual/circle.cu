#include "shape.h"
struct Circle : Shape {
    double r;
    __device__ explicit Circle(double r) : r(r) {}
    __device__ double area() const override { return 3.14159265358979 * r * r; }
    __device__ int sides() const override { return 0; }
};
__device__ Shape* make_circle(double r) { return new Circle(r); }
