__device__ __noinline__ int use_a(int i){ __shared__ int a[8000]; a[i]=i; __syncthreads(); return a[i+1]; }
__device__ __noinline__ int deeper(int i){ __shared__ volatile int b[6000]; b[i]=i; return use_a(i)+b[i*2]; }
__global__ void big(int*p){ *p=deeper(*p); }
