#include "counters.h"
__device__ Totals totals = {0, -1, 0, 0, 0, 1};
static __device__ void multiply(unsigned long long* at, unsigned by) {
    unsigned long long old = *at, seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, seen * by);
    } while (old != seen);
}
__device__ void measure(int i) {
    atomicAdd(&totals.sum, (unsigned long long)i);
    atomicMax(&totals.largest, i);
    atomicOr(&totals.bits, unsigned(i));
    atomicAdd(&totals.real, 1.0f);
    atomicAdd_system(&totals.precise, 0.5);
    if (i % 400 == 0 && i < 16000) multiply(&totals.product, 2);
}
