#include "shapes.h"
__global__ void areas(float* out, int kind) {
    Square square(out[0]);
    Circle circle(out[1]);
    const Shape* s = kind ? static_cast<const Shape*>(&square) : &circle;
    out[threadIdx.x] = core_area(s) + s->area();
}
struct Rounded : Square {
    __device__ explicit Rounded(float s) : Square(s) {}
    __device__ float area() const override { return Square::area() - 0.5f; }
};
__device__ Shape* keep;
__global__ void make_rounded(float s) { keep = new Rounded(s); }
__global__ void drop_rounded() { delete keep; }
