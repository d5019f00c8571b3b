#include "store.h"
__device__ void store(int* out, int i, int shift, int value) {
    int at = i + shift;
    out[at] = value;  // the fault
}
