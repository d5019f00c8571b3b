#pragma once
#include <cstdio>
extern __device__ const char* words[3];
__device__ void say_numbers(int);
__device__ void say_text(const char*, int);
__global__ void lengths(int*);
