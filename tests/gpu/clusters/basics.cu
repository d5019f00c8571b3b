#include "cluster.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ void cluster_wait() { cg::this_cluster().sync(); }
__device__ unsigned cluster_rank() { return cg::this_cluster().block_rank(); }
__device__ unsigned cluster_size() { return cg::this_cluster().num_blocks(); }
