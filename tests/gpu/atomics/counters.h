#pragma once
struct Totals {
    unsigned long long sum;
    int largest;
    unsigned bits;
    float real;
    double precise;
    unsigned long long product;
};
extern __device__ Totals totals;
extern __device__ unsigned histogram[16];
__device__ void count(int i);
__device__ void measure(int i);
