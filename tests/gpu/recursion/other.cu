#include "recursive.h"
__device__ bool is_odd(int n) { return n != 0 && is_even(n - 1); }
__device__ void sort(int* values, int first, int last) {
    if (first >= last) return;
    int pivot = values[last], at = first;
    for (int i = first; i < last; ++i)
        if (values[i] < pivot) {
            int swap = values[i];
            values[i] = values[at];
            values[at++] = swap;
        }
    values[last] = values[at];
    values[at] = pivot;
    sort(values, first, at - 1);
    sort(values, at + 1, last);
}
__device__ int hanoi(int n, int from, int over, int to) {
    return n == 0 ? 0 : hanoi(n - 1, from, to, over) + 1 + hanoi(n - 1, over, from, to);
}
