#pragma once
#include <cstring>
__device__ void fill(int n);
__device__ int read_bytes(int i);
__device__ double total(int n);
