"""culd's libnvJitLink in front of NVIDIA's."""

import ctypes
import os
import pathlib
import sys
from typing import Optional

_loaded: Optional[ctypes.CDLL] = None


def nvjitlink_path(cuda: int = 13) -> str:
    """The path of culd's libnvJitLink.so.13, or of that for CUDA 12: `CULD_OWN_NVJITLINK`, else the one inside of the package."""
    path = os.environ.get("CULD_OWN_NVJITLINK") or str(pathlib.Path(__file__).parent / "lib" / f"libnvJitLink.so.{cuda}")
    if not os.path.exists(path):
        raise ImportError(f"{path} does not exist: this installation has no libnvJitLink")
    return path


def activate(cuda: int = 13) -> str:
    """Loads culd's libnvJitLink so that cuda.bindings, cuda.core, numba-cuda and others use it; the path that was loaded.

    `cuda` is the major version that these packages are for, 12 or 13.

    It must come before the first use of these packages: they look for a loaded library first, and keep what they have found.
    LTO IR is still compiled by NVIDIA's library, which is found by its own path.
    """
    global _loaded
    if _loaded is not None:
        return str(_loaded._name)
    if not sys.platform.startswith("linux"):
        raise NotImplementedError("culd.activate works on Linux only")
    if "cuda.bindings._internal.nvjitlink" in sys.modules or "cuda.bindings.nvjitlink" in sys.modules:
        raise RuntimeError("cuda.bindings.nvjitlink is imported already; call culd.activate() before it")
    with open("/proc/self/maps") as maps:
        other = next((line.split()[-1] for line in maps if "libnvJitLink.so" in line), None)
    path = nvjitlink_path(cuda)
    if other and os.path.realpath(other) != os.path.realpath(path):
        raise RuntimeError(f"{other} is loaded already; call culd.activate() before the package that loads it")
    _loaded = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    return path
