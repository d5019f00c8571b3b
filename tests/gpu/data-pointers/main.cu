#include "../check.h"
#include "nodes.h"

__global__ void walk(long long* out) {
    int n = 0;
    long long sum = 0;
    for (const Node* node = &head; node; node = node->next, ++n) sum = sum * 10 + *node->value;
    out[0] = n;
    out[1] = sum;
    out[2] = *middle;
    out[3] = middle - table;
    out[4] = names[1][0] * 1000 + names[2][4];
}

int main() {
    Buffer<long long> out(5);
    walk<<<1, 1>>>(out.data);
    auto got = out.read();
    expect("nodes", got[0], 4);
    expect("sum", got[1], 1234);
    expect("element behind a pointer", got[2], 60);
    expect("its index", got[3], 5);
    expect("letters", got[4], 'b' * 1000 + 'a');
    return verdict();
}
