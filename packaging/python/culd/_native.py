"""The library libculd, loaded once, with the types of its functions (culd.h), and links made with it."""

import ctypes
import json
import os
import pathlib
import sys
from ctypes import POINTER, Structure, c_bool, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Optional, Tuple

_NAMES = {"win32": ["culd.dll", "culd_c.dll"], "darwin": ["libculd.dylib", "libculd_c.dylib"]}


class CDiagnostic(Structure):
    _fields_ = [("severity", c_int), ("code", c_char_p), ("text", c_char_p), ("file", c_char_p), ("symbol", c_char_p)]


class CKernel(Structure):
    _fields_ = [
        ("name", c_char_p), ("demangled", c_char_p), ("registers", c_uint32), ("barriers", c_uint32),
        ("stack", c_uint64), ("shared", c_uint64),
    ]


_FUNCTIONS = {
    "culd_version": (c_char_p, []),
    "culd_api_version": (c_uint32, []),
    "culd_linker_new": (c_void_p, [c_char_p]),
    "culd_linker_free": (None, [c_void_p]),
    "culd_linker_add_memory": (c_int, [c_void_p, c_int, c_char_p, c_char_p, c_size_t]),
    "culd_linker_add_file": (c_int, [c_void_p, c_char_p]),
    "culd_linker_add_library": (c_int, [c_void_p, c_char_p]),
    "culd_linker_add_library_path": (c_int, [c_void_p, c_char_p]),
    "culd_linker_set": (c_int, [c_void_p, c_int, c_bool]),
    "culd_linker_set_threads": (c_int, [c_void_p, c_uint32]),
    "culd_linker_set_max_registers": (c_int, [c_void_p, c_uint32]),
    "culd_linker_add_ptxas_option": (c_int, [c_void_p, c_char_p]),
    "culd_linker_set_ptxas": (c_int, [c_void_p, c_char_p]),
    "culd_linker_set_nvjitlink": (c_int, [c_void_p, c_char_p]),
    "culd_linker_set_release": (c_int, [c_void_p, c_char_p]),
    "culd_linker_use_kernel": (c_int, [c_void_p, c_char_p]),
    "culd_linker_use_variable": (c_int, [c_void_p, c_char_p]),
    "culd_link": (c_void_p, [c_void_p]),
    "culd_result_free": (None, [c_void_p]),
    "culd_result_ok": (c_bool, [c_void_p]),
    "culd_result_image": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "culd_result_diagnostic_count": (c_size_t, [c_void_p]),
    "culd_result_diagnostic": (c_bool, [c_void_p, c_size_t, POINTER(CDiagnostic)]),
    "culd_result_kernel_count": (c_size_t, [c_void_p]),
    "culd_result_kernel": (c_bool, [c_void_p, c_size_t, POINTER(CKernel)]),
    "culd_result_json": (c_char_p, [c_void_p]),
    "culd_dump": (c_void_p, [c_char_p, c_char_p, c_size_t, c_bool]),
    "culd_diff": (c_void_p, [c_char_p, c_size_t, c_char_p, c_size_t, c_bool]),
    "culd_text_get": (c_char_p, [c_void_p]),
    "culd_text_good": (c_bool, [c_void_p]),
    "culd_text_free": (None, [c_void_p]),
}

API_VERSION = 1
_library: Optional[ctypes.CDLL] = None


def library_path() -> str:
    """The path of libculd: `CULD_LIBRARY`, else the one inside of the package."""
    given = os.environ.get("CULD_LIBRARY")
    if given:
        return given
    directory = pathlib.Path(__file__).parent / "lib"
    names = _NAMES.get(sys.platform, ["libculd.so.0", "libculd.so", "libculd_c.so"])
    for name in names:
        if (directory / name).exists():
            return str(directory / name)
    raise ImportError(f"libculd is not in {directory}: use a wheel that has it, or set CULD_LIBRARY")


def has_library() -> bool:
    """Whether there is a library. Wheels for musl and macOS have the program alone."""
    try:
        return bool(library_path())
    except ImportError:
        return False


def native() -> ctypes.CDLL:
    """The library with typed functions."""
    global _library
    if _library is None:
        library = ctypes.CDLL(library_path())
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        if library.culd_api_version() < API_VERSION:
            raise ImportError(f"{library_path()} is older than this package")
        _library = library
    return _library


class Session:
    """A link with the library."""

    def __init__(self, arch: str):
        self._handle = None
        self._native = native()
        self._handle = self._native.culd_linker_new(arch.encode())
        if not self._handle:
            raise ValueError(f"{arch!r} is not an architecture that can be linked for; use a name such as 'sm_90'")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls the function `culd_linker_<name>`."""
        status = getattr(self._native, f"culd_linker_{name}")(self._handle, *arguments)
        if status == 1:
            raise ValueError(f"{name}: {', '.join(repr(a) for a in arguments)} was refused")
        if status != 0:
            raise RuntimeError(f"{name}: internal error (please report)")

    def link(self) -> Tuple[Dict[str, Any], Optional[bytes]]:
        """The report, and the image of a link without errors."""
        lib = self._native
        result = lib.culd_link(self._handle)
        try:
            report = json.loads(lib.culd_result_json(result))
            if not lib.culd_result_ok(result):
                return report, None
            size = ctypes.c_size_t()
            image = lib.culd_result_image(result, ctypes.byref(size))
            return report, ctypes.string_at(image, size.value)
        finally:
            lib.culd_result_free(result)

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle:
            self._native.culd_linker_free(handle)
