#include "../check.h"
#include "state.h"

__global__ void step(int by) {
    counter += by;
    for (int i = 0; i < 8; ++i) history[i] += counter * i;
    cursor = &history[3];
}

int main() {
    counter = 5;
    history[7] = 1000;
    step<<<1, 1>>>(2);
    finish_kernels();
    expect("counter", counter, 7);
    expect("history", history[7], 1049);
    expect("pointer", cursor == history + 3, 1);
    *cursor = 50;
    double_history();
    finish_kernels();
    expect("after the host wrote", history[3], 100);
    expect("sum on the host", host_sum(), 2 * (7 * (1 + 2 + 4 + 5 + 6) + 50 + 1049));
    return verdict();
}
