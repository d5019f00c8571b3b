#pragma once
struct Node {
    const int* value;
    const Node* next;
};
extern __device__ Node head, second, third, fourth;
extern __device__ int table[8];
extern __device__ int* middle;
extern __device__ const char* const names[3];
