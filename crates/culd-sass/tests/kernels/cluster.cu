// Clusters, distributed shared memory, mbarriers, bulk and tensor copies.
#include <cooperative_groups.h>
#include <stdint.h>
namespace cg = cooperative_groups;
__device__ __forceinline__ unsigned sa(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_sum(const float *x, float *out, int n) {
  __shared__ float s;
  cg::cluster_group c = cg::this_cluster();
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd(&s, v);
  c.sync();
  if (c.block_rank() == 0 && threadIdx.x == 0) { float r = s + *c.map_shared_rank(&s, 1); out[blockIdx.x / 2] = r; }
  c.sync();
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_exchange(const int *x, int *y) {
  __shared__ int b[128];
  cg::cluster_group c = cg::this_cluster();
  b[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  c.sync();
  int *r = c.map_shared_rank(b, (c.block_rank() + 1) & 3);
  y[blockIdx.x * 128 + threadIdx.x] = r[threadIdx.x ^ 1];
  c.sync();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_hist(const unsigned *x, unsigned *h, int n) {
  __shared__ unsigned s[128];
  cg::cluster_group c = cg::this_cluster();
  s[threadIdx.x] = 0;
  c.sync();
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) { unsigned b = x[i] & 255; atomicAdd(c.map_shared_rank(s, b >> 7) + (b & 127), 1u); }
  c.sync();
  atomicAdd(&h[c.block_rank() * 128 + threadIdx.x], s[threadIdx.x]);
}
extern "C" __global__ void mbar_bulk_copy(const float *src, float *dst, int n) {
  __shared__ __align__(128) float buf[1024];
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(sa(&bar)));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],4096;" ::"r"(sa(&bar)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],4096,[%2];" ::"r"(sa(buf)), "l"(src + blockIdx.x * 1024), "r"(sa(&bar)) : "memory");
  }
  __syncthreads();
  asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],0; @p bra D; bra W; D:}" ::"r"(sa(&bar)) : "memory");
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) if (blockIdx.x * 1024 + i < n) dst[blockIdx.x * 1024 + i] = buf[i] * 2;
}
extern "C" __global__ void bulk_store(const float *x, float *y) {
  __shared__ __align__(128) float b[256];
  b[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x] + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],1024;" ::"l"(y + blockIdx.x * 256), "r"(sa(b)) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
struct alignas(64) Map { char b[128]; };
extern "C" __global__ void tma_load_2d(const __grid_constant__ Map m, float *y) {
  __shared__ __align__(128) float b[32 * 32];
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(sa(&bar)));
    asm volatile("fence.proxy.async.shared::cta;");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],4096;" ::"r"(sa(&bar)) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(sa(b)), "l"(&m), "r"(blockIdx.x * 32), "r"(blockIdx.y * 32), "r"(sa(&bar)) : "memory");
  }
  asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],0; @p bra D; bra W; D:}" ::"r"(sa(&bar)) : "memory");
  y[(blockIdx.y * 32 + threadIdx.y) * 1024 + blockIdx.x * 32 + threadIdx.x] = b[threadIdx.y * 32 + threadIdx.x];
}
extern "C" __global__ void tma_store_2d(const __grid_constant__ Map m, const float *x) {
  __shared__ __align__(128) float b[32 * 32];
  b[threadIdx.y * 32 + threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x] * 3;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0,{%1,%2}],[%3];" ::"l"(&m), "r"(blockIdx.x * 32), "r"(blockIdx.y * 32), "r"(sa(b)) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
extern "C" __global__ void tma_pipeline(const __grid_constant__ Map m, float *y, int tiles) {
  __shared__ __align__(128) float b[4][1024];
  __shared__ __align__(8) uint64_t full[4], empty[4];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) { asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(sa(&full[i]))); asm volatile("mbarrier.init.shared::cta.b64 [%0],128;" ::"r"(sa(&empty[i]))); }
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) for (int t = 0; t < tiles; t++) {
      int s = t & 3, ph = (t >> 2) & 1;
      if (t >= 4) asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1; @p bra D; bra W; D:}" ::"r"(sa(&empty[s])), "r"(ph ^ 1) : "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],4096;" ::"r"(sa(&full[s])) : "memory");
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(sa(b[s])), "l"(&m), "r"(t * 32), "r"(blockIdx.x * 32), "r"(sa(&full[s])) : "memory");
    }
  } else {
    float acc = 0;
    for (int t = 0; t < tiles; t++) {
      int s = t & 3, ph = (t >> 2) & 1;
      asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1; @p bra D; bra W; D:}" ::"r"(sa(&full[s])), "r"(ph) : "memory");
      for (int i = threadIdx.x; i < 1024; i += 128) acc += b[s][i];
      asm volatile("mbarrier.arrive.shared::cta.b64 _,[%0];" ::"r"(sa(&empty[s])) : "memory");
    }
    y[blockIdx.x * 128 + threadIdx.x] = acc;
  }
}
extern "C" __global__ void grid_depend(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < n) y[i] = x[i] + 1;
  asm volatile("griddepcontrol.launch_dependents;");
}
extern "C" __global__ void tiled_partition(const int *x, int *y, int n) {
  auto t = cg::tiled_partition<8>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? x[i] : 0;
  for (int o = t.size() / 2; o; o /= 2) v += t.shfl_down(v, o);
  if (t.thread_rank() == 0) y[i / 8] = v;
}
