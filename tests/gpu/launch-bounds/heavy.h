#pragma once
__device__ double heavy(int i);
__device__ double light(int i);
