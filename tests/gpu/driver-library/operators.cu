typedef int (*Operator)(int, int);
static __device__ int add(int a, int b) { return a + b; }
static __device__ int least(int a, int b) { return min(a, b); }
static __device__ int most(int a, int b) { return max(a, b); }
extern "C" {
__device__ Operator operators[3] = {add, least, most};
}
