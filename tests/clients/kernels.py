"""numba-cuda: kernels compiled for an architecture, and linked as its dispatcher does it, without a driver."""

import json

from common import check, image

try:
    from numba import cuda, types
    from numba.cuda.cudadrv.driver import _Linker
except Exception as e:  # without a driver some releases cannot be imported
    print(json.dumps({"check": "import", "value": f"{type(e).__name__}: {str(e).splitlines()[0]}"}))
    raise SystemExit(0)


def scale(out, x, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * factor


def total(out, x):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


SIGNATURES = {
    scale: types.void(types.float32[:], types.float32[:], types.float32),
    total: types.void(types.float64[:], types.float64[:]),
}

for kernel, signature in SIGNATURES.items():
    for lto in [False, True]:

        @check(f"{kernel.__name__} {'LTO' if lto else 'PTX'}")
        def _():
            code, _ = cuda.compile(kernel, signature, cc=(9, 0), abi="numba", device=False, output="ltoir" if lto else "ptx")
            linker = _Linker(max_registers=None, cc=(9, 0), lto=lto)
            (linker.add_ltoir if lto else linker.add_ptx)(code if lto else code.encode(), kernel.__name__)
            linked = linker.complete()
            return image(linked.code)
