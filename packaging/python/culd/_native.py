"""The library libculd, loaded once, with the types of its functions (culd.h)."""

import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, Structure, c_bool, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Optional

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
    raise ImportError(f"libculd is not in {directory}: install culd from a wheel, or set CULD_LIBRARY")


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


def version() -> str:
    """The version of the library."""
    return str(native().culd_version().decode())
