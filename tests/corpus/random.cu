// cuRAND generators and distributions on the device.
#include <curand_kernel.h>
#include <curand_mtgp32_kernel.h>
template <class S> __global__ void init(S *s, unsigned long long seed) { int i = blockIdx.x * blockDim.x + threadIdx.x; curand_init(seed, i, 0, s + i); }
template <class S> __global__ void bits(S *s, unsigned *o, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; S x = s[t]; for (int i = 0; i < n; i++) o[t * n + i] = curand(&x); s[t] = x; }
template <class S> __global__ void uniform(S *s, float *o, int n) { int t = threadIdx.x; S x = s[t]; float a = 0; for (int i = 0; i < n; i++) a += curand_uniform(&x); o[t] = a; s[t] = x; }
template <class S> __global__ void uniform64(S *s, double *o, int n) { int t = threadIdx.x; S x = s[t]; for (int i = t; i < n; i += blockDim.x) o[i] = curand_uniform_double(&x); s[t] = x; }
template <class S> __global__ void normal(S *s, float *o, int n) { int t = threadIdx.x; S x = s[t]; for (int i = t; i < n; i += blockDim.x) o[i] = curand_normal(&x); s[t] = x; }
template <class S> __global__ void log_normal(S *s, double *o, int n) { int t = threadIdx.x; S x = s[t]; for (int i = t; i < n; i += blockDim.x) o[i] = curand_log_normal_double(&x, 0., 1.); s[t] = x; }
template <class S> __global__ void poisson(S *s, unsigned *o, double l) { int t = threadIdx.x; S x = s[t]; o[t] = curand_poisson(&x, l); s[t] = x; }
template <class S> __global__ void pi(S *s, int *o, int n) { int t = threadIdx.x, h = 0; S x = s[t]; for (int i = 0; i < n; i++) { float a = curand_uniform(&x), b = curand_uniform(&x); h += a * a + b * b <= 1; } h += __shfl_down_sync(~0u, h, 16); o[t] = h; s[t] = x; }
#define ALL(S) template __global__ void init<S>(S *, unsigned long long); template __global__ void bits<S>(S *, unsigned *, int); template __global__ void uniform<S>(S *, float *, int); \
 template __global__ void uniform64<S>(S *, double *, int); template __global__ void normal<S>(S *, float *, int); template __global__ void log_normal<S>(S *, double *, int); \
 template __global__ void poisson<S>(S *, unsigned *, double); template __global__ void pi<S>(S *, int *, int);
ALL(curandStateXORWOW) ALL(curandStatePhilox4_32_10) ALL(curandStateMRG32k3a)
__global__ void philox4(curandStatePhilox4_32_10 *s, float4 *o, int n) { int t = threadIdx.x; auto x = s[t]; for (int i = t; i < n; i += blockDim.x) o[i] = curand_normal4(&x); s[t] = x; }
__global__ void sobol(curandStateSobol32 *s, curandDirectionVectors32_t *v, float *o) { int t = threadIdx.x; curandStateSobol32 x; curand_init(v[t], t, &x); o[t] = curand_uniform(&x); s[t] = x; }
__global__ void mtgp(curandStateMtgp32 *s, float *o, int n) { for (int i = threadIdx.x; i < n; i += 256) o[i] = curand_uniform(s + blockIdx.x); }
