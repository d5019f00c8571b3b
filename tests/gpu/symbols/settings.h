#pragma once
extern __device__ int table[4], result;
extern __constant__ int scale, offset;
void set_offset(int value);
int read_offset();
