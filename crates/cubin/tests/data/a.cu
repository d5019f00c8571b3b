#include <cstdio>
__constant__ int cv[8]={1,2,3}; __device__ int gi=5; __device__ float gz[100]; __managed__ int mg=3;
extern __device__ int f(int); __device__ __noinline__ int h(int x){ return x*cv[x&7]+gi; }
struct B{ virtual __device__ int v(int)=0; }; struct D:B{ __device__ int v(int x) override; };
__device__ __noinline__ int D::v(int x){ return x+7; }
template<int N> __device__ __noinline__ int t(int x){ __shared__ int s[N]; s[threadIdx.x]=x; __syncthreads(); return s[N-1-threadIdx.x]; }
typedef int(*fp)(int); __device__ fp tab[2]={h,f};
__global__ void k(int*p,double d){ extern __shared__ int dyn[]; dyn[threadIdx.x]=p[0]; __syncthreads(); p[0]=h(dyn[1])+f(2)+t<32>(p[1])+tab[p[2]&1](3)+(int)(d*1.2345678912)+mg; printf("x %d\n",p[0]); gz[p[1]]=1; }
__global__ void k2(B*b,int*p){ *p=b->v(*p)+t<64>(*p); D d; p[1]=d.v(3);}
