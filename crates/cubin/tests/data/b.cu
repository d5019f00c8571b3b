#include <cassert>
__device__ int gb[4]={9,8}; __device__ int f(int x){ int r=x; if(x>3) r=f(x-1)+gb[x&3]; return r; }
template<int N> __device__ __noinline__ int t(int x){ __shared__ int s[N]; s[threadIdx.x]=x; __syncthreads(); return s[N-1-threadIdx.x]; }
__global__ void kb(float*p,int n){ int i=blockIdx.x*blockDim.x+threadIdx.x; assert(n>0); if(i<n) p[i]=sqrtf(p[i])+t<32>(n); }
__global__ void __launch_bounds__(128,2) ksw(int*p,int x){ int r; switch(x){case 0:r=sinf(x)*3;break;case 1:r=p[3];break;case 2:r=p[4]*p[5];break;case 3:r=p[1]/p[2];break;case 4:r=p[9];p[4]=1;break;case 5:r=__popc(p[2]);break;default:r=7;} p[0]=r; __threadfence(); }
