#include "../check.h"
#include "copy.h"

__global__ void line(const int* in, int* out) {
    __shared__ alignas(128) int tile[256];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier);
        barrier_expect(&barrier, sizeof tile);
        copy_line(tile, in + blockIdx.x * 256, sizeof tile, &barrier);
    }
    __syncthreads();
    barrier_wait(&barrier, 0);
    out[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void square(const __grid_constant__ CUtensorMap map, int* out) {
    __shared__ alignas(128) int tile[16][16];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier);
        barrier_expect(&barrier, sizeof tile);
        copy_tile(tile, &map, blockIdx.x * 16, blockIdx.y * 16, &barrier);
    }
    __syncthreads();
    barrier_wait(&barrier, 0);
    int sum = 0;
    if (threadIdx.x < 16)
        for (int row = 0; row < 16; ++row) sum += (row + 1) * tile[row][threadIdx.x];
    if (threadIdx.x < 16) out[(blockIdx.y * gridDim.x + blockIdx.x) * 16 + threadIdx.x] = sum;
}

int main() {
    const int width = 64, height = 32, n = width * height;
    std::vector<int> in(n);
    for (int i = 0; i < n; ++i) in[i] = i * 13 % 251;
    Buffer<int> from(in), to(n), sums(width / 16 * (height / 16) * 16);

    line<<<n / 256, 256>>>(from.data, to.data);
    auto turned = to.read();
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += turned[i] != in[i / 256 * 256 + 255 - i % 256];
    expect("values of lines wrong", wrong, 0);

    CUtensorMap map = make_map(from.data, width, height);
    square<<<dim3(width / 16, height / 16), 32>>>(map, sums.data);
    auto got = sums.read();
    wrong = 0;
    int last = 0;
    for (int by = 0; by < height / 16; ++by)
        for (int bx = 0; bx < width / 16; ++bx)
            for (int x = 0; x < 16; ++x) {
                int sum = 0;
                for (int y = 0; y < 16; ++y) sum += (y + 1) * in[(by * 16 + y) * width + bx * 16 + x];
                wrong += got[(by * (width / 16) + bx) * 16 + x] != sum;
                last = sum;
            }
    expect("values of tiles wrong", wrong, 0);
    expect("last sum", got.back(), last);
    return verdict();
}
