"""Links: options and inputs in, an image and diagnostics out."""

import enum
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _native, _program

Bytes = Union[bytes, bytearray, memoryview]
Input = Union[str, "os.PathLike[str]", Bytes, Tuple[str, Bytes]]


class InputKind(enum.IntEnum):
    """What an input is. ANY: its content decides."""

    ANY = 0
    CUBIN = 1
    PTX = 2
    LTOIR = 3
    FATBIN = 4
    OBJECT = 5
    ARCHIVE = 6


class _Option(enum.IntEnum):
    DEBUG = 1
    RELOCATABLE = 2
    PRESERVE_RELOCS = 3
    KEEP_UNLAUNCHED_KERNELS = 4
    ALLOW_UNDEFINED_GLOBALS = 5
    EXTRA_WARNINGS = 6
    WARNINGS_AS_ERRORS = 7
    SKIP_FOREIGN_CODE = 8
    VERIFY = 9
    LTO = 10


@dataclass(frozen=True)
class Diagnostic:
    """One message about the inputs or the link."""

    severity: str  #: "info", "warning" or "error"
    code: str  #: stable name, such as "UndefinedReference"
    text: str
    file: Optional[str] = None  #: the input that it is about
    symbol: Optional[str] = None  #: the symbol that it is about, as in the file

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"


@dataclass(frozen=True)
class Bank:
    """A constant bank."""

    bank: int
    size: int


@dataclass(frozen=True)
class Memory:
    """Memory of the whole program."""

    global_: int
    constant_banks: Tuple[Bank, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """What a kernel uses; sizes in bytes, registers and stack per thread.

    `stack` is None when it cannot be known: recursion or calls through pointers.
    """

    name: str
    demangled: str
    registers: int
    barriers: int
    stack: Optional[int]
    shared: int
    constant_banks: Tuple[Bank, ...] = ()
    textures: int = 0
    surfaces: int = 0
    samplers: int = 0


class LinkError(Exception):
    """A link that made no image. `diagnostics` has all messages in order."""

    def __init__(self, diagnostics: Sequence[Diagnostic]):
        self.diagnostics = list(diagnostics)
        errors = [d.text for d in self.diagnostics if d.severity == "error"]
        super().__init__("\n".join(errors))

    def __reduce__(self) -> Any:
        return (LinkError, (self.diagnostics,))


@dataclass(frozen=True)
class Linked:
    """A linked program."""

    image: bytes = field(repr=False)
    kernels: Tuple[Kernel, ...]
    memory: Optional[Memory]
    diagnostics: Tuple[Diagnostic, ...]
    report: Dict[str, Any] = field(repr=False)  #: everything but the image, as in docs/json.md

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes the image to a file, whole or not at all."""
        path = os.fspath(path)
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(self.image)
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise


def _banks(rows: Iterable[Dict[str, int]]) -> Tuple[Bank, ...]:
    return tuple(Bank(row["bank"], row["size"]) for row in rows)


def _kernel(row: Dict[str, Any]) -> Kernel:
    known = {name: row[name] for name in Kernel.__dataclass_fields__ if name in row}
    known["constant_banks"] = _banks(row.get("constant_banks", ()))
    return Kernel(**known)


def _severity(number: int) -> str:
    return {0: "info", 1: "warning"}.get(number, "error")


class Linker:
    """A link to be made. It can be linked more than once; one thread at a time may use it.

        linker = culd.Linker("sm_90", debug=True)
        linker.add("a.o").add(("kernels.ptx", ptx))
        linked = linker.link()
    """

    def __init__(
        self,
        arch: str,
        *,
        debug: bool = False,
        relocatable: bool = False,
        preserve_relocs: bool = False,
        keep_unlaunched_kernels: bool = False,
        allow_undefined_globals: bool = False,
        extra_warnings: bool = False,
        warnings_as_errors: bool = False,
        skip_foreign_code: bool = False,
        verify: bool = False,
        lto: bool = False,
        threads: int = 0,
        max_registers: int = 0,
        ptxas_options: Sequence[str] = (),
        ptxas: "Optional[Union[str, os.PathLike[str]]]" = None,
        nvjitlink: "Optional[Union[str, os.PathLike[str]]]" = None,
        release: Optional[str] = None,
        kernels_used: Sequence[str] = (),
        variables_used: Sequence[str] = (),
        libraries: Sequence[str] = (),
        library_paths: "Sequence[Union[str, os.PathLike[str]]]" = (),
    ):
        self._session: Union[_native.Session, _program.Session, None] = None
        self.arch = arch
        self._session = _native.Session(arch) if _native.has_library() else _program.Session(arch)
        given = locals()
        for option in _Option:
            if given[option.name.lower()]:
                self._call("set", int(option), True)
        self._call("set_threads", threads)
        if max_registers:
            self._call("set_max_registers", max_registers)
        for name, values in {
            "add_ptxas_option": ptxas_options,
            "set_ptxas": [ptxas],
            "set_nvjitlink": [nvjitlink],
            "set_release": [release],
            "use_kernel": kernels_used,
            "use_variable": variables_used,
            "add_library_path": library_paths,
            "add_library": libraries,
        }.items():
            if isinstance(values, str):
                raise TypeError(f"a list of names was expected, not {values!r}")
            for value in values:
                if value is not None:
                    self._call(name, os.fsencode(value))

    def _open(self) -> "Union[_native.Session, _program.Session]":
        if self._session is None:
            raise ValueError("the linker is closed")
        return self._session

    def _call(self, name: str, *arguments: Any) -> None:
        self._open().call(name, *arguments)

    def add(self, *inputs: Input, kind: InputKind = InputKind.ANY) -> "Linker":
        """Adds inputs: paths, bytes, or pairs of a name and bytes. The name appears in diagnostics."""
        for item in inputs:
            if isinstance(item, (bytes, bytearray, memoryview)):
                item = ("memory", item)
            if isinstance(item, tuple):
                name, data = item
                data = bytes(data)
                self._call("add_memory", int(kind), name.encode(), data, len(data))
            elif kind is InputKind.ANY:
                self._call("add_file", os.fsencode(item))
            else:
                with open(item, "rb") as file:
                    self.add((os.fspath(item), file.read()), kind=kind)
        return self

    def link(self) -> Linked:
        """Links the inputs in their order; `LinkError` if that fails."""
        report, image = self._open().link()
        diagnostics = tuple(
            Diagnostic("error" if row["severity"] == "fatal" else row["severity"], row["code"], row["text"], row.get("file"), row.get("symbol"))
            for row in report.get("diagnostics", [])
        )
        if image is None:
            raise LinkError(diagnostics)
        memory = report.get("memory")
        return Linked(
            image=image,
            kernels=tuple(_kernel(row) for row in report.get("kernels", ())),
            memory=memory and Memory(memory["global"], _banks(memory["constant_banks"])),
            diagnostics=diagnostics,
            report=report,
        )

    def close(self) -> None:
        """Frees the memory of the linker; it cannot be used after that."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def __enter__(self) -> "Linker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_session"):
            self.close()


def link(arch: str, inputs: Iterable[Input], **options: Any) -> Linked:
    """Links inputs for an architecture; the options are those of `Linker`."""
    with Linker(arch, **options) as linker:
        return linker.add(*inputs).link()
