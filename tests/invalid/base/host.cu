__device__ int helper(int a){return a+1;}
__global__ void hostkernel(int*p){*p=helper(3);}
void go(int*p){hostkernel<<<1,1>>>(p);}
