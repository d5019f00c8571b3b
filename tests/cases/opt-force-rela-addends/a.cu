struct Big {
  int a[1000];
};

__global__ void k(const __grid_constant__ Big b, int* p) {
  for (int i = 0; i < 3; i++) p[i] = b.a[p[i + 3]];
}
