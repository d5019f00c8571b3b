#include "say.h"
__device__ void say_numbers(int n) {
    printf("numbers %d %5.2f %llx %c %u\n", n, n * 1.25, 0x123456789abcull << n, 'a' + n, 4000000000u + n);
}
