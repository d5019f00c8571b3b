"""cuda-cccl: its library asks the loader for libnvJitLink.so.13 and for symbols with that version node."""

import ctypes
import glob
import sysconfig

from common import check, loaded

LIBRARY = glob.glob(sysconfig.get_path("purelib") + "/cuda/compute/cu13/cccl/libcccl.c.parallel.so")


@check("load with all symbols")
def _():
    import os

    from cuda.pathfinder import load_nvidia_dynamic_lib

    if not os.environ.get("LD_PRELOAD"):
        load_nvidia_dynamic_lib("nvJitLink")
    for name in ["nvrtc", "cudart", "nvvm"]:
        try:
            load_nvidia_dynamic_lib(name)
        except Exception:
            pass
    library = ctypes.CDLL(LIBRARY[0], os.RTLD_NOW)
    return bool(library.cccl_device_reduce_build), len(loaded())
