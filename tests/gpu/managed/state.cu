#include "state.h"
__managed__ int counter = 1;
__managed__ int history[8];
__managed__ int* cursor;
