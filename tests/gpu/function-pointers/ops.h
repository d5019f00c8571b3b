#pragma once
typedef float (*Operation)(float);
extern __device__ Operation operations[4];
__device__ float apply(Operation, float);
__device__ Operation pick(int);
__device__ float increment(float);
__device__ float square(float);
__device__ float negate_(float);
__device__ float halve(float);
