"""cuda.core on a GPU: core.py KIND, in the directory that `build` wrote.

Links kernel and helper with `Linker`, as cubins, PTX, LTO IR and so on, or compiles both from source by NVRTC first (source-ptx, source-ltoir, source-cubin),
launches the kernel and checks what it computes. Prints PASS and the libraries called libnvJitLink in the process.
"""

import pathlib
import sys

import numpy
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, ObjectCode, Program, ProgramOptions, launch

N = 256
MAKERS = {
    "cubin": ObjectCode.from_cubin,
    "ptx": ObjectCode.from_ptx,
    "ltoir": ObjectCode.from_ltoir,
    "fatbin": ObjectCode.from_fatbin,
    "o": ObjectCode.from_object,
}
SOURCE = pathlib.Path(__file__).parent


def loaded():
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if "libnvJitLink" in line})


def inputs(kind):
    for name in ["kernel", "helper"]:
        if kind.startswith("source-"):
            form = kind.split("-")[1]
            options = ProgramOptions(std="c++17", arch="sm_90", relocatable_device_code=True, link_time_optimization=True if form == "ltoir" else None)
            yield Program((SOURCE / f"{name}.cu").read_text(), "c++", options).compile(form)
        else:
            # "cubin-ptx": the kernel as a cubin, the helper as PTX
            form = kind.split("-")[0 if name == "kernel" else -1]
            data = pathlib.Path(f"{name}.{form}").read_bytes()
            yield MAKERS[form](data + b"\0" if form == "ptx" else data, name=name)


def main():
    kind = sys.argv[1]
    device = Device()
    device.set_current()
    stream = device.create_stream()
    lto = True if "ltoir" in kind else None
    linked = Linker(*inputs(kind), options=LinkerOptions(arch="sm_90", link_time_optimization=lto)).link("cubin")
    kernel = linked.get_kernel("scale")
    code, at = driver.cuMemAlloc(4 * N)
    assert int(code) == 0, code
    launch(stream, LaunchConfig(grid=N // 64, block=64), kernel, int(at), numpy.int32(N))
    stream.sync()
    got = numpy.empty(N, numpy.float32)
    (code,) = driver.cuMemcpyDtoH(got.ctypes.data, at, got.nbytes)
    assert int(code) == 0, code
    i = numpy.arange(N)
    wanted = i * numpy.array([1, 10, 100, 1000])[i % 4] + (i & 1) + 0.5
    if not (got == wanted.astype(numpy.float32)).all():
        sys.exit(f"FAIL {got[:8]}, expected {wanted[:8]}")
    print("PASS", len(linked.code), "bytes;", *loaded())


main()
