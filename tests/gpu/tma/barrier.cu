#include "copy.h"
static __device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ void barrier_init(unsigned long long* barrier) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(barrier)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ void barrier_expect(unsigned long long* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes) : "memory");
}
__device__ void barrier_wait(unsigned long long* barrier, unsigned phase) {
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(barrier)), "r"(phase) : "memory");
}
