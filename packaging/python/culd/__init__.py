"""culd, a device linker for CUDA.

    import culd

    linked = culd.link("sm_90", ["a.o", "b.cubin"])
    linked.image            # bytes for cuModuleLoadData
    linked.kernels          # [Kernel(name='saxpy', registers=12, ...)]

Inputs are files or bytes of any kind: cubin, fatbin, host object, archive, PTX, LTO IR. A link that fails raises
`LinkError` with its diagnostics. `Linker` has all options; `dump` and `diff` describe device files; `activate` puts
culd's libnvJitLink in front of NVIDIA's for cuda.bindings and everything built on it.

Wheels for musl and macOS have no libraries: there, links, `dump` and `diff` run the program `culd`.
"""

from ._activate import activate, nvjitlink_path
from ._linker import Bank, Diagnostic, InputKind, Kernel, Linked, Linker, LinkError, Memory, link
from ._native import has_library, library_path, native
from ._inspect import diff, dump
from ._program import program_path
from ._program import version as _program_version


def version() -> str:
    """The version of the library, or of the program where there is none."""
    return str(native().culd_version().decode()) if has_library() else _program_version()


def __getattr__(name: str) -> str:
    # Not at import: no library is loaded, and no program is run, before one is used.
    if name == "__version__":
        return version()
    raise AttributeError(f"module 'culd' has no attribute {name!r}")


__all__ = [
    "Bank", "Diagnostic", "InputKind", "Kernel", "LinkError", "Linked", "Linker", "Memory",
    "activate", "diff", "dump", "has_library", "library_path", "link", "nvjitlink_path", "program_path", "version",
]
