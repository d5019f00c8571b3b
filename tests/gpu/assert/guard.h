#pragma once
__device__ int guarded(int x, int limit);
