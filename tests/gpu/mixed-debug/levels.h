#pragma once
__device__ int middle(int x);
__device__ int low(int x);
