"""culd, a device linker for CUDA.

    import culd

    linked = culd.link("sm_90", ["a.o", "b.cubin"])
    linked.image            # bytes for cuModuleLoadData
    linked.kernels          # [Kernel(name='saxpy', registers=12, ...)]

Inputs are files or bytes of any kind: cubin, fatbin, host object, archive, PTX, LTO IR. A link that fails raises
`LinkError` with its diagnostics. `Linker` has all options; `dump` and `diff` describe device files; `activate` puts
culd's libnvJitLink in front of NVIDIA's for cuda.bindings and everything built on it.
"""

from ._activate import activate, nvjitlink_path
from ._linker import Bank, Diagnostic, InputKind, Kernel, Linked, Linker, LinkError, Memory, link
from ._native import library_path, version
from ._inspect import diff, dump

__version__ = version()

__all__ = [
    "Bank", "Diagnostic", "InputKind", "Kernel", "LinkError", "Linked", "Linker", "Memory",
    "activate", "diff", "dump", "library_path", "link", "nvjitlink_path", "version",
]
