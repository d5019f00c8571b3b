"""The program culd, and links made with it: for wheels that have no libculd."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Tuple

# The flags of the options of culd.h, by their numbers.
_SWITCHES = {
    1: "--debug", 2: "--relocatable-link", 3: "--preserve-relocs", 4: "--ignore-host-info", 5: "--allow-undefined-globals",
    6: "--extra-warnings", 7: "--warning-as-error", 8: "--suppress-arch-warning", 9: "--verify", 10: "--link-time-opt",
}
# The flags of the functions of culd.h that take a value.
_FLAGS = {
    "set_threads": "--threads", "set_max_registers": "--maxrregcount", "add_ptxas_option": "--Xptxas", "set_ptxas": "--ptxas",
    "set_nvjitlink": "--nvjitlink", "use_kernel": "--kernels-used", "use_variable": "--variables-used",
    "add_library_path": "--library-path", "add_library": "--library",
}
# The endings of files by kind of input; without one, by their first bytes.
_ENDINGS = {1: ".cubin", 2: ".ptx", 3: ".ltoir", 4: ".fatbin", 5: ".o", 6: ".a"}
_MAGIC = {b"\x50\xed\x55\xba": 4, b"\xed\x43\x4e\x7f": 3, b"!<ar": 6}
_MACHINE_CUDA = 190


def _candidates() -> "Iterator[pathlib.Path]":
    name = "culd.exe" if os.name == "nt" else "culd"
    given = os.environ.get("CULD_PROGRAM")
    if given:
        yield pathlib.Path(given)
        return
    # `pip install --target` puts scripts into `bin` beside the packages.
    yield pathlib.Path(__file__).parent.parent / "bin" / name
    preferred = getattr(sysconfig, "get_default_scheme", lambda: None)()
    for scheme in [preferred, f"{os.name}_user"]:
        if scheme in sysconfig.get_scheme_names():
            yield pathlib.Path(sysconfig.get_path("scripts", scheme)) / name
    yield pathlib.Path(sys.executable).parent / name


def program_path() -> str:
    """The path of the program: `CULD_PROGRAM`, else the one that was installed with the package."""
    for path in _candidates():
        if path.is_file():
            return str(path)
    raise ImportError("neither libculd nor the program culd is installed with this package: install culd from a wheel, or set CULD_LIBRARY or CULD_PROGRAM")


def run(arguments: "List[str]", **keywords: Any) -> "subprocess.CompletedProcess[bytes]":
    """Runs the program."""
    return subprocess.run([program_path(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords)


def version() -> str:
    """The version of the program."""
    found = re.match(r"culd ([^\s,]+)", run(["--version"]).stdout.decode())
    if not found:
        raise ImportError(f"{program_path()} does not print a version")
    return found.group(1)


def kind_of(data: bytes) -> int:
    """The kind of an input, by its content."""
    if data[:4] == b"\x7fELF":
        return 1 if int.from_bytes(data[18:20], "little") == _MACHINE_CUDA else 5
    return _MAGIC.get(data[:4], 2)


def inspect(arguments: "List[str]", files: "Dict[str, bytes]") -> "Tuple[str, int]":
    """What a command of the program prints about files with these names, and its exit code."""
    with tempfile.TemporaryDirectory(prefix="culd-") as directory:
        for name, data in files.items():
            pathlib.Path(directory, name).write_bytes(data)
        done = run([*arguments, *files], cwd=directory)
        if done.returncode not in (0, 1) or not done.stdout and done.stderr:
            raise ValueError(done.stderr.decode(errors="replace").strip())
        return done.stdout.decode(errors="replace"), done.returncode


def dump(name: str, data: bytes) -> "Dict[str, Any]":
    """The contents of a file, as the library writes them."""
    file: Dict[str, Any] = json.loads(inspect(["dump", "--json"], {"file": data})[0])["files"][0]
    file["path"] = name
    for cubin in file.get("cubins", []):
        cubin["name"] = name + cubin["name"][len("file"):]
    return file


class Session:
    """A link with the program. Inputs in memory are files of a temporary directory while the program runs."""

    def __init__(self, arch: str):
        self._directory: Optional[str] = None
        if not re.fullmatch(r"sm_\d{2,3}[a-z]?", arch):
            raise ValueError(f"{arch!r} is not an architecture that can be linked for; use a name such as 'sm_90'")
        program_path()
        self._arguments: List[str] = [f"-arch={arch}"]
        self._names: Dict[str, str] = {}

    def call(self, name: str, *arguments: Any) -> None:
        """Does what the function `culd_linker_<name>` of the library does."""
        if name == "add_memory":
            self._add_memory(*arguments[:3])
        elif name == "add_file":
            self._arguments.append(os.path.abspath(os.fsdecode(arguments[0])))
        elif name == "set":
            self._arguments.append(_SWITCHES[arguments[0]])
        elif name in _FLAGS:
            value = arguments[0]
            self._arguments.append(f"{_FLAGS[name]}={os.fsdecode(value) if isinstance(value, bytes) else value}")
        else:
            raise NotImplementedError(f"{name} needs libculd, which this wheel does not have")

    def _add_memory(self, kind: int, name: bytes, data: bytes) -> None:
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix="culd-")
        path = pathlib.Path(self._directory, f"{len(self._names)}{_ENDINGS[kind or kind_of(data)]}")
        path.write_bytes(data)
        self._names[str(path)] = name.decode(errors="replace")
        self._arguments.append(str(path))

    def link(self) -> "Tuple[Dict[str, Any], Optional[bytes]]":
        """The report, and the image of a link without errors."""
        with tempfile.TemporaryDirectory(prefix="culd-") as directory:
            image, page = pathlib.Path(directory, "image"), pathlib.Path(directory, "report")
            done = run([*self._arguments, f"--json-report={page}", "-o", str(image)])
            if not page.exists():
                raise ValueError(done.stderr.decode(errors="replace").strip())
            report = json.loads(self._renamed(page.read_text(encoding="utf-8")))
            report["diagnostics"] = report.pop("messages", [])
            return report, image.read_bytes() if done.returncode == 0 else None

    def _renamed(self, text: str) -> str:
        """The names of inputs in memory in place of their files, in a JSON text."""
        for path, name in self._names.items():
            text = text.replace(json.dumps(path)[1:-1], json.dumps(name)[1:-1])
        return text

    def close(self) -> None:
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)
