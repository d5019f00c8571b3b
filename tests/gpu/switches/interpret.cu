#include "machine.h"
__device__ unsigned interpret(const unsigned char* code, int length, unsigned a, unsigned b) {
    for (int i = 0; i < length; ++i) {
        unsigned next = step(code[i], a, b);
        b = a;
        a = next;
    }
    return a;
}
