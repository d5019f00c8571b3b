"""What is in a device file, and how two of them differ."""

import json
import os
from typing import Any, Dict, Tuple, Union

from . import _program
from ._native import has_library, native

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]


def _read(source: Source) -> Tuple[str, bytes]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return "memory", bytes(source)
    with open(source, "rb") as file:
        return os.fspath(source), file.read()


def _text(handle: int) -> Tuple[str, bool]:
    lib = native()
    try:
        return lib.culd_text_get(handle).decode(errors="replace"), lib.culd_text_good(handle)
    finally:
        lib.culd_text_free(handle)


def dump(source: Source) -> Dict[str, Any]:
    """The contents of a cubin, fatbin, host object, archive or executable, as `culd dump --json` writes them for one file."""
    name, data = _read(source)
    if not has_library():
        return _program.dump(name, data)
    text, _ = _text(native().culd_dump(name.encode(), data, len(data), True))
    contents: Dict[str, Any] = json.loads(text)
    return contents


def diff(a: Source, b: Source) -> str:
    """How two device files differ, as `culd diff` prints it; empty when they are equal."""
    (_, first), (_, second) = _read(a), _read(b)
    if not has_library():
        text, code = _program.inspect(["diff", "--demangle"], {"A": first, "B": second})
        return text if code else ""
    text, same = _text(native().culd_diff(first, len(first), second, len(second), False))
    return "" if same else text
