#include "../check.h"
#include "stages.h"

int main() {
    const int n = 1024;
    Buffer<int> data(n);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int round = 0; round < 3; ++round) {
        queue_add(data.data, n, round + 1, stream);
        queue_double(data.data, n, stream);
    }
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    size_t nodes = 0;
    CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    expect("nodes", nodes, 6);
    for (int replay = 0; replay < 4; ++replay) CUDA(cudaGraphLaunch(exec, stream));
    auto got = data.read();
    int want = 0, wrong = 0;
    for (int replay = 0; replay < 4; ++replay)
        for (int round = 0; round < 3; ++round) want = (want + round + 1) * 2;
    for (int i = 0; i < n; ++i) wrong += got[i] != want;
    expect("values wrong", wrong, 0);
    expect("value", got[n - 1], want);
    return verdict();
}
