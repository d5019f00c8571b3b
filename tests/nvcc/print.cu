// Functions of the driver: printf, assert, the heap.
#include <cassert>
#include <cstdio>

__device__ __noinline__ void say(int x) { printf("value %d of thread %d\n", x, threadIdx.x); }

__global__ void talk(int *p) {
    assert(*p != 7);
    int *copy = new int(*p);
    say(*copy);
    delete copy;
}

void talk_on_host(int *p) { talk<<<1, 1>>>(p); }
