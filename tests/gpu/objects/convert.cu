#include "registry.h"
namespace company::product::module {
__device__ double convert(int x) { return x * 100; }
__device__ double convert(double x) { return x * 2; }
__device__ double convert(const Vector<Vector<int, 2>, 2>& v) {
    double joined = 0;
    for (const auto& row : v.at)
        for (int value : row.at) joined = joined * 10 + value;
    return joined;
}
}
