__device__ int other(int v)
{
    __shared__ int more[16];
    more[v & 15] = v;
    __syncthreads();
    return more[(v + 3) & 15];
}
