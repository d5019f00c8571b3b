#include "list.h"
__device__ int sum(const List* list) {
    int sum = 0;
    for (Item* item = list->first; item; item = item->next) sum += item->value;
    return sum;
}
__device__ int* flatten(const List* list) {
    int* out = static_cast<int*>(malloc(list->length * sizeof(int)));
    int at = 0;
    for (Item* item = list->first; item; item = item->next) out[at++] = item->value;
    return out;
}
