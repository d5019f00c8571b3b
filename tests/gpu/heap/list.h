#pragma once
#include <cstdlib>
struct Item {
    int value;
    Item* next;
};
struct List {
    Item* first = nullptr;
    int length = 0;
};
__device__ void push(List*, int value);
__device__ int sum(const List*);
__device__ int* flatten(const List*);
__device__ void destroy(List*);
