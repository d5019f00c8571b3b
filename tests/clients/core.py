"""cuda.core: Linker with every kind of input."""

from common import check, data, image
from cuda.core import Linker, LinkerOptions, ObjectCode

PTX = ObjectCode.from_ptx


def link(options, *codes):
    linker = Linker(*codes, options=LinkerOptions(**options))
    out = linker.link("cubin")
    result = image(out.code), linker.get_error_log().rstrip("\0")
    linker.close()
    return result


SM = {"arch": "sm_90"}
CASES = {
    "cubin": (SM, [(ObjectCode.from_cubin, "call.sm_90.cubin"), (ObjectCode.from_cubin, "twice.sm_90.cubin")]),
    "ptx": (SM, [(PTX, "call.ptx"), (PTX, "twice.ptx")]),
    "ptx and cubin": (SM, [(PTX, "call.ptx"), (ObjectCode.from_cubin, "twice.sm_90.cubin")]),
    "fatbin": (SM, [(ObjectCode.from_cubin, "call.sm_90.cubin"), (ObjectCode.from_fatbin, "twice.sm_90.fatbin")]),
    "object": (SM, [(ObjectCode.from_object, "host.sm_90.o"), (ObjectCode.from_object, "host2.sm_90.o")]),
    "archive": (SM, [(ObjectCode.from_library, "both.sm_90.a")]),
    "lto": ({**SM, "link_time_optimization": True}, [(ObjectCode.from_ltoir, "host.ltoir"), (ObjectCode.from_ltoir, "host2.ltoir")]),
    "debug": ({**SM, "debug": True, "lineinfo": True}, [(PTX, "call.ptx"), (PTX, "twice.ptx")]),
    "registers": ({**SM, "max_register_count": 32}, [(PTX, "call.ptx"), (PTX, "twice.ptx")]),
    "ptxas options": ({**SM, "ptxas_options": ["-O1"]}, [(PTX, "call.ptx"), (PTX, "twice.ptx")]),
    "fast math": ({**SM, "ftz": True, "prec_div": False, "prec_sqrt": False, "fma": True}, [(PTX, "call.ptx"), (PTX, "twice.ptx")]),
    "kernels used": ({**SM, "kernels_used": ["k"]}, [(PTX, "call.ptx"), (PTX, "twice.ptx")]),
    "split compile": ({**SM, "split_compile": 2}, [(PTX, "call.ptx"), (PTX, "twice.ptx")]),
    "undefined": (SM, [(PTX, "call.ptx")]),
}

for label, (options, inputs) in CASES.items():

    @check(label)
    def _():
        # PTX ends with NUL, as that of Program does
        codes = [make(data(name) + b"\0" if make is PTX else data(name), name=name) for make, name in inputs]
        return link(options, *codes)
