__device__ __noinline__ int walk(int n) { return n < 2 ? 1 : walk(n - 1) * n + walk(n - 2); }
#define KERNEL(name) __global__ void name(int *p) { *p = walk(*p); }
#define TEN(x) KERNEL(x##0) KERNEL(x##1) KERNEL(x##2) KERNEL(x##3) KERNEL(x##4) KERNEL(x##5) KERNEL(x##6) KERNEL(x##7) KERNEL(x##8) KERNEL(x##9)
TEN(a) TEN(b) TEN(c) TEN(d)
