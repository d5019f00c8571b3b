#include "list.h"
__device__ void push(List* list, int value) {
    list->first = new Item{value, list->first};
    ++list->length;
}
__device__ void destroy(List* list) {
    for (Item* item = list->first; item;) {
        Item* next = item->next;
        delete item;
        item = next;
    }
    delete list;
}
