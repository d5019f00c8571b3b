"""tinygrad: its compiler from PTX through libnvJitLink (found by NVJITLINK_PATH)."""

from common import check, data, image, loaded
from tinygrad.device import CompileError
from tinygrad.runtime.support.compiler_cuda import NVPTXCompiler

GOOD = data("single.ptx").decode()


@check("PTX")
def _():
    return image(NVPTXCompiler("sm_90").compile(GOOD))


@check("PTX with TARGET and VERSION")
def _():
    lines = [line for line in GOOD.splitlines() if not line.startswith((".version", ".target"))]
    return image(NVPTXCompiler("sm_90").compile("\n".join([".version VERSION", ".target TARGET", *lines])))


@check("bad PTX")
def _():
    try:
        NVPTXCompiler("sm_90").compile(GOOD.replace("ret;", "nonsense;"))
    except CompileError as e:
        return str(e).splitlines()[0]


@check("libraries")
def _():
    return len(loaded())
