#include "grid.h"
#include <cooperative_groups.h>
__device__ void wait_for_grid() { cooperative_groups::this_grid().sync(); }
