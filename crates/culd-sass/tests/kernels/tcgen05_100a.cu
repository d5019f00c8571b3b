// Fifth-generation tensor cores: tensor memory, asynchronous MMA, multicast. Only for the "a" targets of sm_100 and sm_110.
#include <stdint.h>
__device__ __forceinline__ unsigned sa(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void wait(unsigned bar, unsigned ph) {
  asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1; @p bra D; bra W; D:}" ::"r"(bar), "r"(ph) : "memory");
}
extern "C" __global__ void __launch_bounds__(128) tc_gemm_one(uint64_t da, uint64_t db, unsigned idesc, float *c) {
  __shared__ unsigned addr;
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0],64;" ::"r"(sa(&addr)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(sa(&bar)));
  asm volatile("tcgen05.fence::before_thread_sync;");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;");
  unsigned t = addr;
  if (threadIdx.x == 0) {
    for (int k = 0; k < 4; k++)
      asm volatile("{.reg .pred p; setp.ne.u32 p,%4,0; tcgen05.mma.cta_group::1.kind::f16 [%0],%1,%2,%3,p;}" ::"r"(t), "l"(da + k * 2), "l"(db + k * 2), "r"(idesc), "r"(k) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(sa(&bar)) : "memory");
  }
  wait(sa(&bar), 0);
  unsigned r[16];
  for (int j = 0; j < 64; j += 16) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15},[%16];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8]), "=r"(r[9]), "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]), "=r"(r[14]), "=r"(r[15]) : "r"(t + j + ((threadIdx.x / 32) << 21)));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 16; i++) c[threadIdx.x * 64 + j + i] = __uint_as_float(r[i]);
  }
  __syncthreads();
  if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0,64;" ::"r"(t));
}
extern "C" __global__ void __launch_bounds__(128) tc_store_load(const unsigned *x, unsigned *y, int n) {
  __shared__ unsigned addr;
  if (threadIdx.x < 32) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0],32;" ::"r"(sa(&addr)) : "memory");
  __syncthreads();
  unsigned t = addr + ((threadIdx.x / 32) << 21);
  for (int i = 0; i < n; i++) {
    uint4 v = ((const uint4 *)x)[i * 128 + threadIdx.x], w;
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0],{%1,%2,%3,%4};" ::"r"(t), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0,%1,%2,%3},[%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "r"(t));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    ((uint4 *)y)[i * 128 + threadIdx.x] = make_uint4(w.x + 1, w.y + 2, w.z + 3, w.w + 4);
  }
  __syncthreads();
  if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0,32;" ::"r"(addr));
}
extern "C" __global__ void tc_copy_smem(uint64_t desc, unsigned col) {
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(sa(&bar)));
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0],%1;" ::"r"(col), "l"(desc) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(sa(&bar)) : "memory");
    wait(sa(&bar), 0);
  }
}
