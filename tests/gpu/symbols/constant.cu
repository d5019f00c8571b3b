#include "settings.h"
__constant__ int scale = 1, offset;
void set_offset(int value) { cudaMemcpyToSymbol(offset, &value, sizeof value); }
int read_offset() {
    int value = -1;
    cudaMemcpyFromSymbol(&value, offset, sizeof value);
    return value;
}
