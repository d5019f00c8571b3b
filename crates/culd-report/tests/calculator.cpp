// Blocks per multiprocessor as the calculator of the CUDA toolkit gives them, for rows on standard input:
// architecture, threads, registers, static shared, dynamic shared, barriers, and the limits of the architecture
// (threads and registers per multiprocessor, registers per block, shared per multiprocessor and per block, reserved).
#include <cstdio>
#include <cuda_occupancy.h>

int main() {
    int sm, threads, registers, fixed, dynamic, barriers, sm_threads, sm_registers, block_registers, sm_shared, block_shared, reserved;
    while (scanf("%d %d %d %d %d %d %d %d %d %d %d %d", &sm, &threads, &registers, &fixed, &dynamic, &barriers, &sm_threads, &sm_registers,
                 &block_registers, &sm_shared, &block_shared, &reserved) == 12) {
        cudaOccDeviceProp p;
        p.computeMajor = sm / 10;
        p.computeMinor = sm % 10;
        p.maxThreadsPerBlock = 1024;
        p.maxThreadsPerMultiprocessor = sm_threads;
        p.regsPerBlock = block_registers;
        p.regsPerMultiprocessor = sm_registers;
        p.warpSize = 32;
        p.sharedMemPerBlock = 48 * 1024;
        p.sharedMemPerMultiprocessor = sm_shared;
        p.numSms = 1;
        p.sharedMemPerBlockOptin = block_shared;
        p.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes a;
        a.maxThreadsPerBlock = 1024;
        a.numRegs = registers;
        a.sharedSizeBytes = fixed;
        a.partitionedGCConfig = PARTITIONED_GC_OFF;
        a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        a.maxDynamicSharedSizeBytes = block_shared - fixed;
        a.numBlockBarriers = barriers;
        cudaOccDeviceState s;
        cudaOccResult r;
        cudaOccError e = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, dynamic);
        printf("%d\n", e == CUDA_OCC_SUCCESS ? r.activeBlocksPerMultiprocessor : -1);
    }
}
