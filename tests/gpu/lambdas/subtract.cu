#include "map.h"
__device__ int twist(int i) { return i ^ 5; }
void subtract_squares(int* data, int n, int more) {
    map_all<<<1, 128>>>(data, n, [=] __device__(int i, int old) { return old - (square(i) + more); });
}
