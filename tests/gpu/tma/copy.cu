#include "copy.h"
static __device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ void copy_line(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        ::"r"(address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(address(barrier)) : "memory");
}
__device__ void copy_tile(void* to, const CUtensorMap* map, int x, int y, unsigned long long* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(address(to)), "l"(map), "r"(x), "r"(y), "r"(address(barrier)) : "memory");
}
