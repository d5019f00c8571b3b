// Dynamic parallelism: a kernel that starts a kernel of another file.
__global__ void child(int *p, int depth);

__global__ void parent(int *p) {
    child<<<1, 32>>>(p, 0);
    child<<<2, 64, 128>>>(p + 64, 1);
}

void parent_on_host(int *p) { parent<<<1, 1>>>(p); }
