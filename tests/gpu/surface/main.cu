#include "../check.h"
#include "canvas.h"

__global__ void draw(cudaSurfaceObject_t canvas) { plot(canvas, threadIdx.x, threadIdx.y, threadIdx.x * 100 + threadIdx.y); }

__global__ void blur(cudaSurfaceObject_t canvas, int* out) {
    out[threadIdx.y * 16 + threadIdx.x] = around(canvas, threadIdx.x, threadIdx.y);
}

int main() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    CUDA(cudaMallocArray(&array, &format, 16, 16, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t canvas;
    CUDA(cudaCreateSurfaceObject(&canvas, &resource));
    Buffer<int> out(256);
    draw<<<1, dim3(16, 16)>>>(canvas);
    blur<<<1, dim3(16, 16)>>>(canvas, out.data);
    auto got = out.read();
    int wrong = 0;
    for (int y = 0; y < 16; ++y)
        for (int x = 0; x < 16; ++x) {
            auto at = [](int x, int y) { return x < 0 || x > 15 || y < 0 || y > 15 ? 0 : x * 100 + y; };
            wrong += got[y * 16 + x] != at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
        }
    expect("values wrong", wrong, 0);
    expect("middle", got[8 * 16 + 8], 3232);
    return verdict();
}
