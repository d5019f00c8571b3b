__global__ void one(int*p){ p[0]=1; }
