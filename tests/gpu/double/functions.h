#pragma once
__device__ double circular(double x);
__device__ double exponential(double x);
__device__ double special(double x);
__device__ double integrate(double x);
