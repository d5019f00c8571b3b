#include "machine.h"
__device__ double blend(int kind, double x) {
    switch (kind) {
        case 0: return x * 1.2345678901234567 + 0.98765432109876543;
        case 1: return x * x * 3.3333333333333335 - 1e-300;
        case 2: return 1e300 / (x + 2.7182818284590452);
        case 3: return x - 6.02214076e23;
        case 4: return x * 1.380649e-23;
        case 5: return (x + 0.1) * (x + 0.2) * (x + 0.3);
        default: return -x;
    }
}
