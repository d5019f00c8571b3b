#include "cluster.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int from_next(int* mine) {
    cg::cluster_group cluster = cg::this_cluster();
    return cluster.map_shared_rank(mine, (cluster_rank() + 1) % cluster_size())[threadIdx.x];
}
__device__ int cluster_sum(int* mine) {
    // every block adds its values into the shared memory of each block
    __shared__ int sums[32];
    sums[threadIdx.x] = 0;
    cluster_wait();
    cg::cluster_group cluster = cg::this_cluster();
    for (unsigned rank = 0; rank < cluster_size(); ++rank)
        atomicAdd(cluster.map_shared_rank(sums, rank) + threadIdx.x, mine[threadIdx.x]);
    cluster_wait();
    return sums[threadIdx.x];
}
