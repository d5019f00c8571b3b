#include "say.h"
__device__ const char* words[3] = {"four", "sixsix", "tententent"};
__device__ void say_text(const char* text, int n) {
    printf("text <%s> <%s> 100%%\n", text, n % 2 ? "odd" : "even");
}
__global__ void lengths(int* out) {
    *out = 0;
    for (const char* word : words)
        while (*word++) ++*out;
}
