#pragma once
__device__ int policy(int x);
__device__ int front(int x);
__device__ int back(int x);
__device__ int lookup(int i);
