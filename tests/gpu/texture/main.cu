#include "../check.h"
#include "image.h"

__global__ void sample(cudaTextureObject_t image, float* out) {
    int x = threadIdx.x, y = threadIdx.y;
    out[y * WIDTH + x] = texel(image, x, y);
    out[WIDTH * HEIGHT + y * WIDTH + x] = between(x, y);
}

int main() {
    std::vector<float> pixels(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; ++i) pixels[i] = float(i);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CUDA(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    CUDA(cudaMemcpy2DToArray(array, 0, 0, pixels.data(), WIDTH * 4, WIDTH * 4, HEIGHT, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc point = {}, linear = {};
    point.addressMode[0] = point.addressMode[1] = cudaAddressModeClamp;
    linear = point;
    linear.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t points, lines;
    CUDA(cudaCreateTextureObject(&points, &resource, &point, nullptr));
    CUDA(cudaCreateTextureObject(&lines, &resource, &linear, nullptr));
    CUDA(cudaMemcpyToSymbol(smooth, &lines, sizeof lines));

    Buffer<float> out(2 * WIDTH * HEIGHT);
    sample<<<1, dim3(WIDTH, HEIGHT)>>>(points, out.data);
    auto got = out.read();
    int wrong = 0;
    for (int y = 0; y < HEIGHT; ++y)
        for (int x = 0; x < WIDTH; ++x) {
            int i = y * WIDTH + x;
            wrong += got[i] != pixels[i];
            int right = x + 1 < WIDTH ? i + 1 : i;
            wrong += got[WIDTH * HEIGHT + i] != (pixels[i] + pixels[right]) / 2;
        }
    expect("texels wrong", wrong, 0);
    expect_near("halfway", got[WIDTH * HEIGHT], 0.5, 0);
    return verdict();
}
