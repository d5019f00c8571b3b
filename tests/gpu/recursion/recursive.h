#pragma once
__device__ int fibonacci(int n);
__device__ int ackermann(int m, int n);
__device__ bool is_even(int n);
__device__ bool is_odd(int n);
__device__ void sort(int* values, int first, int last);
__device__ int hanoi(int n, int from, int over, int to);
