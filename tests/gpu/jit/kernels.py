"""numba-cuda on a GPU: kernels.py KIND, in the directory that `build` wrote.

A kernel written in Python calls `combine` of helper.cu, which is linked as a cubin, PTX, LTO IR and so on; with KIND `lto` or `plain` nothing is linked to it.
Launches the kernel, checks what it computes, prints PASS and the libraries called libnvJitLink in the process.
"""

import sys

import numpy

if not hasattr(numpy, "row_stack"):  # numba-cuda 0.30 asks for it, NumPy 2.5 has removed it
    numpy.row_stack = numpy.vstack
from numba import cuda, types

N = 256


def loaded():
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if "libnvJitLink" in line})


def main():
    kind = sys.argv[1]
    lto = kind in ("ltoir", "lto")
    if kind in ("plain", "lto"):

        @cuda.jit(device=True)
        def combine(x, i):
            return x + numpy.float32(i & 1)

        link = []
    else:
        link = [f"helper.{kind}"]
        combine = cuda.declare_device("_Z7combinefi", types.float32(types.float32, types.int32), link=link, abi="c")

    @cuda.jit(types.void(types.float32[:], types.float32[:]), lto=lto)
    def scale(out, factors):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = combine(numpy.float32(i) * factors[i % 4], numpy.int32(i)) + numpy.float32(0.5)

    factors = numpy.array([1, 10, 100, 1000], numpy.float32)
    out = cuda.to_device(numpy.zeros(N, numpy.float32))
    scale[N // 64, 64](out, cuda.to_device(factors))
    got = out.copy_to_host()
    i = numpy.arange(N)
    wanted = (i * factors[i % 4] + (i & 1) + 0.5).astype(numpy.float32)
    if not (got == wanted).all():
        sys.exit(f"FAIL {got[:8]}, expected {wanted[:8]}")
    print("PASS;", *loaded())


main()
