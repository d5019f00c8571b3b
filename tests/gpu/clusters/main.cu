#include "../check.h"
#include "cluster.h"

__global__ void __cluster_dims__(4, 1, 1) exchange(const int* in, int* out) {
    __shared__ int mine[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    mine[threadIdx.x] = in[i];
    cluster_wait();
    out[i] = from_next(mine) + cluster_sum(mine);
    cluster_wait();
}

__global__ void sized(int* out) {
    if (threadIdx.x == 0) out[blockIdx.x] = int(cluster_size()) * 100 + int(cluster_rank());
}

int main() {
    std::vector<int> in(8 * 32);
    for (size_t i = 0; i < in.size(); ++i) in[i] = int(i * 11 % 97);
    Buffer<int> from(in), to(in.size()), sizes(8);
    exchange<<<8, 32>>>(from.data, to.data);
    auto got = to.read();
    int wrong = 0;
    for (int b = 0; b < 8; ++b)
        for (int t = 0; t < 32; ++t) {
            int first = b / 4 * 4, sum = 0;
            for (int k = first; k < first + 4; ++k) sum += in[k * 32 + t];
            wrong += got[b * 32 + t] != in[(first + (b + 1) % 4) * 32 + t] + sum;
        }
    expect("values wrong", wrong, 0);

    // a cluster size given at launch
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, sized, sizes.data));
    auto s = sizes.read();
    expect("size and rank of block 4", s[4], 200);
    expect("size and rank of block 7", s[7], 201);
    return verdict();
}
