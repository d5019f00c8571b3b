#include "chain.h"
LEVEL(1, level2)
LEVEL(3, level4)
LEVEL(5, level6)
