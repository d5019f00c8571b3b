#include "chain.h"
LEVEL(2, level3)
LEVEL(4, level5)
LEVEL(6, bottom)
