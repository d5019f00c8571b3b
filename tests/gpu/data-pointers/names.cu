#include "nodes.h"
__device__ char alpha[] = "alpha";
__device__ char beta[] = "beta";
__device__ char gamma_[] = "gamma";
extern __device__ const char* const names[3];
__device__ const char* const names[3] = {alpha, beta, gamma_};
