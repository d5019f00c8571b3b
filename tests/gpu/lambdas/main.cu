#include "../check.h"
#include "map.h"

int main() {
    const int n = 100;
    Buffer<int> data(n);
    int factor = 3;
    map_all<<<1, 128>>>(data.data, n, [factor] __device__(int i, int) { return i * factor + twist(i); });
    add_squares(data.data, n, 2);
    subtract_squares(data.data, n, 1);
    auto got = data.read();
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += got[i] != i * 3 + (i ^ 5) + 2 * i * i - (i * i + 1);
    expect("values wrong", wrong, 0);
    expect("last", got[99], 297 + (99 ^ 5) + 9801 - 1);
    return verdict();
}
