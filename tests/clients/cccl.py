"""cuda-cccl: its library asks the loader for libnvJitLink.so.13 and for symbols with that version node.

It needs the driver too. Where there is none, a library with the names of cuda.h stands in for it; nothing of it is called.
"""

import ctypes
import glob
import os
import pathlib
import re
import subprocess
import sysconfig
import tempfile

from common import check, loaded

PACKAGES = sysconfig.get_path("purelib")
LIBRARY = glob.glob(PACKAGES + "/cuda/compute/cu13/cccl/libcccl.c.parallel.so")


def driver():
    """Loads the driver or its stand-in."""
    try:
        return ctypes.CDLL("libcuda.so.1", os.RTLD_GLOBAL)
    except OSError:
        pass
    header = pathlib.Path(PACKAGES, "nvidia/cu13/include/cuda.h").read_text()
    names = set(re.findall(r"\bCUDAAPI\s+(cu[A-Z]\w*)\s*\(", header)) | set(re.findall(r"#\s*define\s+cu[A-Z]\w*\s+(cu[A-Z]\w*)\s*$", header, re.M))
    plain = set(re.findall(r"#\s*define\s+(cu[A-Z]\w*)\s+cu[A-Z]\w*\s*$", header, re.M))
    with tempfile.TemporaryDirectory() as directory:
        source, library = pathlib.Path(directory, "driver.c"), pathlib.Path(directory, "libcuda.so.1")
        source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(names | plain)))
        subprocess.run(["cc", "-shared", "-fPIC", "-w", source, "-Wl,-soname,libcuda.so.1", "-o", library], check=True)
        return ctypes.CDLL(str(library), os.RTLD_GLOBAL)


@check("load with all symbols resolved")
def _():
    from cuda.pathfinder import load_nvidia_dynamic_lib

    keep = driver()
    if not os.environ.get("LD_PRELOAD"):
        load_nvidia_dynamic_lib("nvJitLink")
    load_nvidia_dynamic_lib("nvrtc")
    library = ctypes.CDLL(LIBRARY[0], os.RTLD_NOW)
    return bool(keep) and bool(library.cccl_device_reduce_build), len(loaded())
