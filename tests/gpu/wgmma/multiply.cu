#include "tile.h"
// Start, distance of blocks along K (128 bytes) and along M or N (256 bytes), each in units of 16 bytes; no swizzle.
static __device__ unsigned long long descriptor(const half* tile) {
    unsigned long long start = __cvta_generic_to_shared(tile);
    return (start & 0x3ffff) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}
__device__ Fragment multiply(const half* left, const half* right) {
    Fragment d = {};
    asm volatile(
        "wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;\n"
        "wgmma.commit_group.sync.aligned;\n"
        "wgmma.wait_group.sync.aligned 0;\n"
        : "+f"(d.at[0]), "+f"(d.at[1]), "+f"(d.at[2]), "+f"(d.at[3])
        : "l"(descriptor(left)), "l"(descriptor(right)) : "memory");
    return d;
}
