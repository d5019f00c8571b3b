#include "state.h"
static __global__ void kernel() { history[threadIdx.x] *= 2; }
void double_history() { kernel<<<1, 8>>>(); }
int host_sum() {
    int sum = 0;
    for (int value : history) sum += value;
    return sum;
}
