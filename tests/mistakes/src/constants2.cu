__constant__ double coefficients[200];
__global__ void use_c(double *p) { *p = coefficients[(int)*p]; }
