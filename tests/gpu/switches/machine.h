#pragma once
__device__ unsigned interpret(const unsigned char* code, int length, unsigned a, unsigned b);
__device__ double blend(int kind, double x);
__host__ __device__ inline unsigned step(unsigned op, unsigned a, unsigned b) {
    switch (op) {
        case 0: return a + b;
        case 1: return a - b;
        case 2: return a * b;
        case 3: return a ^ b;
        case 4: return a & b;
        case 5: return a | b;
        case 6: return a << (b & 7);
        case 7: return a >> (b & 7);
        case 8: return a * 7 + b;
        case 9: return b * 5 - a;
        case 10: return ~a + b;
        case 11: return a % (b | 1);
        case 12: return (a + b) / 3;
        case 13: return a * a - b;
        case 14: return b - 2 * a;
        case 15: return a + 9 * b;
        default: return a;
    }
}
