__device__ float heavy(float x, const float *p) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; i++) v[i] = p[i * 3] * x;
#pragma unroll
  for (int i = 0; i < 64; i++) x = x * v[i] + v[63 - i];
  return x;
}
