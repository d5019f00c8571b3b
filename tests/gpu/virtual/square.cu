#include "shape.h"
struct Square : Rectangle {
    __device__ explicit Square(double a) : Rectangle(a, a) {}
};
__device__ Shape* make_square(double a) { return new Square(a); }
__device__ double total(Shape** shapes, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += shapes[i]->area();
    return sum;
}
