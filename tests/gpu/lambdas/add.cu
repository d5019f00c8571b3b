#include "map.h"
__device__ int square(int i) { return i * i; }
void add_squares(int* data, int n, int times) {
    map_all<<<1, 128>>>(data, n, [=] __device__(int i, int old) { return old + times * square(i); });
}
