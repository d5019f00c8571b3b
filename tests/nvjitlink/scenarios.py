"""Scenarios of the C interface of libnvJitLink: ours against NVIDIA's.

    scenarios.py OURS THEIRS TOOLS WORK CASES.json [NAME..]

1. Inputs are compiled once into WORK/in.
2. A scenario is a name and a list of calls. Each runs with both libraries, in a process of its own.
3. Compared: the result code of every call, both logs, and the linked file without the section .note.nv.tkinfo. Times and addresses are masked.
4. A difference that is a correction is counted as such, under the reason in CORRECTIONS. Any other is a failure.

A library for CUDA 12 has other corrections. Its host objects are made from cubins, since only ptxas of that release is there; scenarios with
LTO IR are left out.

The exit code is 0 when nothing failed.
"""

import collections
import ctypes
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs")
NONE, CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, INDEX, ANY = 0, 1, 2, 3, 4, 5, 6, 7, 10
# Section types without bytes in the file.
NO_BYTES = {0, 8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015}
ARCHS = ["sm_80", "sm_90", "sm_100"]


# Inputs ---------------------------------------------------------------------------------------------------------------------------------------


def build(tools, work, twelve):
    """Compiles the inputs; a dictionary of their bytes."""
    directory = os.path.join(work, "in12" if twelve else "in")
    os.makedirs(directory, exist_ok=True)
    environment = dict(os.environ, PATH=tools + os.pathsep + os.environ["PATH"])

    def make(name, *command):
        if not os.path.exists(os.path.join(directory, name)):
            subprocess.run([c.replace("@", SOURCES + "/") for c in command], cwd=directory, env=environment, check=True)

    for name in ["call", "twice", "again", "single", "shared", "wide", "recursive"]:
        for arch in ARCHS:
            make(f"{name}.{arch}.cubin", "ptxas", f"-arch={arch}", "-c", f"@{name}.ptx", "-o", f"{name}.{arch}.cubin")
    for arch in ARCHS:
        make(f"exec.{arch}.cubin", "ptxas", f"-arch={arch}", "@single.ptx", "-o", f"exec.{arch}.cubin")
        number = arch[3:]
        make(f"twice.{arch}.fatbin", "fatbinary", "-64", f"--create=twice.{arch}.fatbin", f"--image3=kind=elf,sm={number},file=twice.{arch}.cubin")
        if twelve:
            make(f"call.{arch}.fatbin", "fatbinary", "-64", f"--create=call.{arch}.fatbin", f"--image3=kind=elf,sm={number},file=call.{arch}.cubin")
            for name, content in [("host", "call"), ("host2", "twice")]:
                with open(os.path.join(directory, f"{name}.{arch}.s"), "w") as file:
                    file.write(f'.section __nv_relfatbin,"a"\n.balign 8\n.incbin "{content}.{arch}.fatbin"\n')
                make(f"{name}.{arch}.o", "cc", "-c", f"{name}.{arch}.s", "-o", f"{name}.{arch}.o")
        else:
            make(f"host.{arch}.o", "nvcc", f"-arch={arch}", "-rdc=true", "-c", "@host.cu", "-o", f"host.{arch}.o")
            make(f"host2.{arch}.o", "nvcc", f"-arch={arch}", "-rdc=true", "-c", "@host2.cu", "-o", f"host2.{arch}.o")
        make(f"both.{arch}.a", "ar", "rcs", f"both.{arch}.a", f"host.{arch}.o", f"host2.{arch}.o")
    make("ptx.fatbin", "fatbinary", "-64", "--create=ptx.fatbin", "--image3=kind=ptx,sm=80,file=@twice.ptx")
    make("plain.o", "cc", "-c", "@plain.c", "-o", "plain.o")
    if not twelve:
        make("lto.o", "nvcc", "-arch=sm_90", "-dc", "-dlto", "@host2.cu", "-o", "lto.o")
        make("lto.fatbin", "nvcc", "-gencode=arch=compute_90,code=lto_90", "-rdc=true", "-fatbin", "@host2.cu", "-o", "lto.fatbin")
        make("host2.ltoir", "nvcc", "-arch=lto_90", "-dlto", "-ltoir", "@host2.cu", "-o", "host2.ltoir")
        make("host.ltoir", "nvcc", "-arch=lto_90", "-dlto", "-ltoir", "@host.cu", "-o", "host.ltoir")
    data = {}
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), "rb") as file:
            data[name] = file.read()
    for name in ["call", "twice", "again", "single", "recursive"]:
        with open(os.path.join(SOURCES, name + ".ptx"), "rb") as file:
            data[name + ".ptx"] = file.read() + b"\0"
    data["new.ptx"] = b".version 99.99\n.target sm_90\n.address_size 64\n\0"
    data["bad.ptx"] = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { nonsense; }\n\0"
    data["comment.ptx"] = b"// comment\n/* more */ " + data["twice.ptx"]
    data["garbage"] = bytes(range(1, 200))
    data["text"] = b"hello, world, this is no input at all, just some text of a hundred bytes or so ............\0"
    data["elf"] = b"\x7fELF\2\1\1" + bytes(100)
    data["one"] = b"x"
    return data, directory


# Running --------------------------------------------------------------------------------------------------------------------------------------


def mask(text):
    text = re.sub(r"\d+\.\d+ ms", "TIME ms", text)
    text = re.sub(r"(time [a-zA-Z_ ]+): \d+\.\d+", r"\1: TIME", text)
    return text


def sections(image):
    """Everything of an ELF file that a different tool note does not move."""
    if image[:4] != b"\x7fELF":
        return image.hex()
    number = lambda at, size: int.from_bytes(image[at : at + size], "little")
    table, count, names = number(0x28, 8), number(0x3C, 2), number(0x3E, 2)
    strings = number(table + 64 * names + 0x18, 8)
    out = [("header", image[:0x28].hex()[:48], number(0x30, 4), number(0x38, 2))]
    for index in range(count):
        at = table + 64 * index
        start = strings + number(at, 4)
        name = image[start : image.index(b"\0", start)].decode()
        offset, size, kind = number(at + 0x18, 8), number(at + 0x20, 8), number(at + 4, 4)
        if name == ".note.nv.tkinfo":
            out.append((name,))
            continue
        body = b"" if kind in NO_BYTES else image[offset : offset + size]
        out.append((name, kind, number(at + 8, 8), number(at + 0x28, 4), number(at + 0x2C, 4), number(at + 0x30, 8), size, body.hex()))
    return out


class Calls:
    """The calls of a scenario, with a loaded library."""

    def __init__(self, library, data, directory):
        self.lib = ctypes.CDLL(library)
        self.data, self.directory = data, directory
        self.handle = ctypes.c_void_p()
        self.out = []
        self.keep = []

    def create(self, options, *how):
        how = how[0] if how else ""
        texts = [None if o is None else o.encode() for o in options]
        array = (ctypes.c_char_p * max(1, len(texts)))(*texts)
        self.keep.append(array)
        handle = None if how == "null handle" else ctypes.byref(self.handle)
        code = self.lib.nvJitLinkCreate(handle, len(texts), None if how == "null list" else array)
        self.created = bool(self.handle)
        return code

    def add(self, kind, name, label, *how):
        how = how[0] if how else ""
        data = self.data[name]
        size = len(data)
        if how == "cut":
            data = data[: size // 2]
            size = len(data)
        elif how.startswith("size"):
            size = int(how[4:])
        elif how == "no nul":
            data = data.rstrip(b"\0")
            size = len(data)
        elif how.startswith("flip"):
            position = int(how[4:]) % size
            data = data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]
        buffer = ctypes.create_string_buffer(data, len(data) + 1)
        self.keep.append(buffer)
        label = None if label is None else label.encode()
        self.keep.append(label)
        pointer = None if how == "null" else buffer
        return self.lib.nvJitLinkAddData(self.handle, kind, pointer, ctypes.c_size_t(size), label)

    def add_file(self, kind, name):
        if name is not None and name and not name.startswith("/"):
            os.chdir(self.directory)
        path = None if name is None else name.encode()
        self.keep.append(path)
        return self.lib.nvJitLinkAddFile(self.handle, kind, path)

    def complete(self):
        return self.lib.nvJitLinkComplete(self.handle)

    def _get(self, what):
        size = ctypes.c_size_t(987654321)
        code = getattr(self.lib, f"nvJitLinkGet{what}Size")(self.handle, ctypes.byref(size))
        if code:
            return [code, size.value == 987654321]
        buffer = ctypes.create_string_buffer(b"\xee" * (size.value + 8), size.value + 8)
        code = getattr(self.lib, f"nvJitLinkGet{what}")(self.handle, buffer)
        return [code, size.value, buffer.raw[: size.value], buffer.raw[size.value : size.value + 8]]

    def cubin(self):
        got = self._get("LinkedCubin")
        return got if len(got) == 2 else [got[0], sections(got[2])]

    def ptx(self):
        got = self._get("LinkedPtx")
        return got if len(got) == 2 else [got[0], got[1], got[2].decode("latin1")]

    def logs(self):
        out = []
        for what in ["ErrorLog", "InfoLog"]:
            got = self._get(what)
            if len(got) == 2:
                out.append(got)
            else:
                out.append([got[0], got[1] == 0, mask(got[2].rstrip(b"\0").decode("latin1")), got[3][:1].hex() if got[1] == 0 else ""])
        return out

    def destroy(self):
        code = self.lib.nvJitLinkDestroy(ctypes.byref(self.handle))
        return [code, bool(self.handle)]

    def null(self, what):
        lib = self.lib
        size = ctypes.c_size_t(5)
        return {
            "destroy pointer": lambda: lib.nvJitLinkDestroy(None),
            "destroy": lambda: lib.nvJitLinkDestroy(ctypes.byref(ctypes.c_void_p())),
            "add": lambda: lib.nvJitLinkAddData(None, 1, b"x", ctypes.c_size_t(1), None),
            "file": lambda: lib.nvJitLinkAddFile(None, 1, b"x"),
            "complete": lambda: lib.nvJitLinkComplete(None),
            "cubin size": lambda: [lib.nvJitLinkGetLinkedCubinSize(None, ctypes.byref(size)), size.value],
            "cubin": lambda: lib.nvJitLinkGetLinkedCubin(None, b"12345678"),
            "log size": lambda: [lib.nvJitLinkGetErrorLogSize(None, ctypes.byref(size)), size.value],
            "log": lambda: lib.nvJitLinkGetErrorLog(None, b"12345678"),
            "info": lambda: lib.nvJitLinkGetInfoLog(None, b"12345678"),
            "size place": lambda: lib.nvJitLinkGetLinkedCubinSize(self.handle, None),
            "log place": lambda: lib.nvJitLinkGetErrorLogSize(self.handle, None),
            "buffer": lambda: lib.nvJitLinkGetLinkedCubin(self.handle, None),
            "version": lambda: lib.nvJitLinkVersion(None, None),
        }[what]()


def child(library, calls, data, directory, pipe):
    prints = tempfile.TemporaryFile()
    os.dup2(prints.fileno(), 1)
    os.dup2(prints.fileno(), 2)
    runner = Calls(library, data, directory)
    results = []
    with os.fdopen(pipe, "w") as out:
        for call in calls:
            results.append(getattr(runner, call[0])(*call[1:]))
            # What is there when a later call ends the process.
            out.seek(0) if out.seekable() else None
        prints.seek(0)
        printed = prints.read().decode("latin1")
        json.dump([results, printed], out)
    os._exit(0)


def run(library, calls, data, directory, limit=20):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            child(library, calls, data, directory, write)
        except BaseException as problem:  # a broken runner must not look like a result
            os.write(write, json.dumps(["runner", repr(problem)]).encode())
        os._exit(0)
    os.close(write)
    chunks, end = [], time.time() + limit
    os.set_blocking(read, False)
    import select

    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, end - time.time()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(read)
            return "hang"
        part = os.read(read, 1 << 20)
        if not part:
            break
        chunks.append(part)
    os.close(read)
    _, status = os.waitpid(pid, 0)
    text = b"".join(chunks)
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return json.loads(text) if text else f"exit {os.WEXITSTATUS(status)}"


# The table ------------------------------------------------------------------------------------------------------------------------------------

END = [["logs"], ["cubin"], ["destroy"]]


def link(options, *adds):
    return [["create", options], *adds, ["complete"], *END]


def option_scenarios():
    flags = """-time -verbose -lto -dlto -ptx -O0 -O3 -O1 -O2 -O4 -O -O=3 -O3x -O33 -O9 -g -gx -G -g=1 -lineinfo -lineinfo=1 -ftz=1 -ftz=0 -ftz=x -ftz= -ftz
    -prec-div=1 -prec-div= -prec-sqrt=0 -fma=1 -fma=x -fma -kernels-used=a -kernels-used=a,b -kernels-used= -kernels-used -variables-used=v -variables-used=
    -optimize-unused-variables -optimize-unused-variables=1 -Xptxas=-O1 -Xptxas= -Xptxas -Xnvvm=-opt=1 -Xnvvm= -split-compile=0 -split-compile=4 -split-compile=-1
    -split-compile=x -split-compile= -split-compile -split-compile-extended=0 -split-compile-extended=-1 -split-compile-extended=-7 -jump-table-density=50
    -jump-table-density= -jump-table-density -no-cache -no-cachex -Ofc=0 -Ofc=min -Ofc=mid -Ofc=max -Ofc=bad -Ofc= --Ofast-compile=max --Ofast-compile=1 --Ofast-compile= -fast-compile -fast-compilex --device-stack-protector=true --device-stack-protector=bad --device-stack-protector= -split-compile-extended= -r -rdc -report-arch -uidx=/no/such -uidx=
    -maxrregcount=32 -maxrregcount=x -maxrregcount= -maxrregcount -maxrregcount=0 -maxrregcount=-1 -device-stack-protector -device-stack-protector=true -v -w -arch
    --arch=sm_90 -arch:sm_90 - -- -nvvm-latest -Werror -timex -verbose=1 -ltoir -ptxx -dltox a.cubin /no/such sm_90 -m64 --verbose -help -I. -D -X -Xptxas=-v,-O2""".split()
    flags += ["", " ", " -g", "-g ", "-arch= sm_90", "-arch=sm_90 "]
    for flag in flags:
        yield f"option/alone/{flag}", [["create", [flag]], ["logs"], ["destroy"]]
        yield f"option/before/{flag}", [["create", [flag, "-arch=sm_90"]], ["logs"], ["destroy"]]
        yield f"option/after/{flag}", [["create", ["-arch=sm_90", flag]], ["logs"], ["destroy"]]
    archs = """sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_90f sm_90x sm_100 sm_100a sm_100f sm_101 sm_103 sm_103a sm_110 sm_110f sm_120 sm_120a sm_121 sm_99
    sm_72 sm_130 sm_900 sm_9 sm_1 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_30 sm_20 sm_107 sm_0 sm_ sm_xx foo 90 SM_90 sm90 compute_90 compute_90a lto_90
    compute_70 lto_70 compute_99 sm_090 sm_-90 sm_90sm_80 sm_4294967386 compute_ lto_""".split() + [""]
    for arch in archs:
        yield f"arch/{arch}", [["create", ["-arch=" + arch]], ["logs"], ["destroy"]]
    for pair in [("sm_80", "sm_90"), ("sm_99", "sm_90"), ("sm_90", "sm_99"), ("compute_90", "sm_90"), ("sm_90", "compute_90")]:
        yield f"arch/two/{pair}", [["create", ["-arch=" + a for a in pair]], ["logs"], ["destroy"]]
    for options in [["-ptx", "-arch=compute_90"], ["-lto", "-ptx", "-arch=compute_90"], ["-lto", "-arch=compute_90"], ["-ptx", "-lto", "-arch=sm_90"]]:
        yield f"option/set/{options}", [["create", options], ["logs"], ["destroy"]]
    yield "create/null handle", [["create", ["-arch=sm_90"], "null handle"]]
    yield "create/null list", [["create", ["-arch=sm_90"], "null list"]]
    yield "create/null list of none", [["create", [], "null list"]]
    yield "create/null option", [["create", ["-arch=sm_90", None]], ["logs"], ["destroy"]]
    yield "create/none", [["create", []], ["logs"], ["destroy"]]


def content_scenarios():
    contents = ["single.sm_90.cubin", "single.sm_80.cubin", "single.sm_100.cubin", "exec.sm_90.cubin", "twice.sm_90.fatbin", "twice.sm_80.fatbin", "ptx.fatbin"]
    contents += ["single.ptx", "bad.ptx", "new.ptx", "comment.ptx", "host2.sm_90.o", "host2.sm_80.o", "plain.o", "both.sm_90.a", "both.sm_80.a", "lto.o", "lto.fatbin"]
    contents += ["host2.ltoir", "garbage", "text", "elf", "one"]
    for content in contents:
        for kind in [NONE, CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, INDEX, 8, 9, ANY, 11, -1]:
            name = None if (kind + len(content)) % 3 == 0 else "the/input"
            yield f"content/{content}/{kind}", link(["-arch=sm_90"], ["add", kind, content, name])
        yield f"content/{content}/null", link(["-arch=sm_90"], ["add", ANY, content, None])
        yield f"content/{content}/file", link(["-arch=sm_90"], ["add_file", ANY, content]) if content not in ("garbage",) and not content.endswith(".ptx") and content not in ("text", "elf", "one") else link(["-arch=sm_90"], ["add", ANY, content, "again"])
    for kind in [CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, INDEX, ANY, NONE]:
        yield f"content/empty/{kind}", link(["-arch=sm_90"], ["add", kind, "text", "n", "size0"])
        yield f"content/null data/{kind}", link(["-arch=sm_90"], ["add", kind, "single.sm_90.cubin", "n", "null"])
        yield f"file/missing/{kind}", link(["-arch=sm_90"], ["add_file", kind, "/no/such/file"])
    for path in ["/tmp", "", None]:
        yield f"file/{path}", link(["-arch=sm_90"], ["add_file", ANY, path])
    for content in ["single.sm_90.cubin", "twice.sm_90.fatbin", "host2.sm_90.o", "both.sm_90.a"]:
        yield f"damage/cut/{content}", link(["-arch=sm_90"], ["add", ANY, content, "cut", "cut"])
        for position in [16, 18, 40, 60, 70, 100, 333, 777, 1111, 2222]:
            yield f"damage/flip{position}/{content}", link(["-arch=sm_90"], ["add", ANY, content, "flipped", f"flip{position}"])
    yield "ptx/without nul", link(["-arch=sm_90"], ["add", PTX, "single.ptx", "p", "no nul"])


def order_scenarios():
    create, add, other = ["create", ["-arch=sm_90"]], ["add", CUBIN, "call.sm_90.cubin", "call"], ["add", CUBIN, "twice.sm_90.cubin", "twice"]
    bad, single = ["add", ANY, "garbage", "bad"], ["add", CUBIN, "single.sm_90.cubin", "single"]
    sets = {
        "nothing": [create, ["complete"], *END],
        "only create": [create, *END],
        "complete twice": [create, single, ["complete"], ["complete"], *END],
        "cubin before complete": [create, single, ["cubin"], ["complete"], *END],
        "add after complete": [create, single, ["complete"], add, *END],
        "bad after complete": [create, single, ["complete"], bad, *END],
        "ptx after complete": [create, single, ["complete"], ["add", PTX, "twice.ptx", "late"], *END],
        "complete after late add": [create, single, ["complete"], add, ["complete"], *END],
        "undefined": [create, add, ["complete"], *END],
        "undefined null name": [create, ["add", CUBIN, "call.sm_90.cubin", None], ["complete"], *END],
        "undefined then add": [create, add, ["complete"], other, ["complete"], *END],
        "bad then good": [create, bad, add, other, ["complete"], *END],
        "good bad good": [create, add, bad, other, ["complete"], *END],
        "logs between": [create, bad, ["logs"], bad, ["logs"], add, other, ["complete"], *END],
        "reverse": [create, other, add, ["complete"], *END],
        "same twice": [create, single, single, ["complete"], *END],
        "duplicates": [create, add, other, ["add", CUBIN, "again.sm_90.cubin", "again"], ["complete"], *END],
        "ptx getter": [create, single, ["complete"], ["ptx"], *END],
        "ptx getter before": [create, ["ptx"], *END],
        "probe": [create, ["add", PTX, "new.ptx", None], add, ["complete"], *END],
        "probe twice": [create, ["add", PTX, "new.ptx", None], ["add", PTX, "bad.ptx", None], add, other, ["complete"], *END],
        "destroy twice": [create, ["destroy"], ["destroy"]],
        "shared limit": [create, ["add", CUBIN, "shared.sm_90.cubin", "s"], ["add", CUBIN, "wide.sm_90.cubin", "w"], ["complete"], *END],
        "recursive": [create, ["add", CUBIN, "recursive.sm_90.cubin", "r"], ["complete"], *END],
        "other arch then good": [create, ["add", CUBIN, "call.sm_80.cubin", "old"], single, ["complete"], *END],
        "failed create": [["create", ["-arch=sm_99"]], single, ["complete"], *END],
        "failed create getters": [["create", ["-bogus"]], ["cubin"], ["logs"], ["destroy"]],
        "kernels of the host": [create, ["add", OBJECT, "host.sm_90.o", "h"], ["add", OBJECT, "host2.sm_90.o", "h2"], ["complete"], *END],
    }
    for name, calls in sets.items():
        yield "order/" + name, calls
    for what in ["destroy pointer", "destroy", "add", "file", "complete", "cubin size", "cubin", "log size", "log", "info", "version"]:
        yield "null/" + what, [["null", what]]
    for what in ["size place", "log place", "buffer"]:
        yield "null/" + what, [create, single, ["complete"], ["null", what], ["destroy"]]


def link_scenarios():
    sets = {
        "cubins": lambda a: [["add", CUBIN, f"call.{a}.cubin", "call"], ["add", CUBIN, f"twice.{a}.cubin", "twice"]],
        "any": lambda a: [["add", ANY, f"twice.{a}.cubin", "t"], ["add", ANY, f"call.{a}.cubin", None]],
        "fatbin": lambda a: [["add", CUBIN, f"call.{a}.cubin", "call"], ["add", FATBIN, f"twice.{a}.fatbin", "fat"]],
        "ptx": lambda a: [["add", PTX, "call.ptx", "call"], ["add", PTX, "twice.ptx", None]],
        "mixed": lambda a: [["add", PTX, "call.ptx", "call"], ["add", CUBIN, f"twice.{a}.cubin", "twice"], ["add", CUBIN, f"single.{a}.cubin", "single"]],
        "ptx fatbin": lambda a: [["add", CUBIN, f"call.{a}.cubin", "call"], ["add", FATBIN, "ptx.fatbin", "fat"]],
        "objects": lambda a: [["add", OBJECT, f"host.{a}.o", "host"], ["add", OBJECT, f"host2.{a}.o", "host2"]],
        "archive": lambda a: [["add", LIBRARY, f"both.{a}.a", "both.a"]],
        "recursive": lambda a: [["add", CUBIN, f"recursive.{a}.cubin", "r"], ["add", CUBIN, f"single.{a}.cubin", "s"]],
        "undefined": lambda a: [["add", CUBIN, f"call.{a}.cubin", "call"], ["add", CUBIN, f"single.{a}.cubin", "s"]],
    }
    options = {
        "plain": [],
        "-g": ["-g"],
        "-r": ["-r"],
        "-verbose": ["-verbose"],
        "-time -verbose": ["-time", "-verbose"],
        "-lineinfo": ["-lineinfo"],
        "-O0": ["-O0"],
        "-kernels-used": ["-kernels-used=call"],
        "-kernels-used two": ["-kernels-used=call", "-kernels-used=single", "-kernels-used=from_host"],
        "-kernels-used none": ["-kernels-used=absent"],
        "-variables-used": ["-variables-used=table", "-kernels-used=call"],
        "-variables-used alone": ["-variables-used=counter"],
        "-optimize-unused-variables": ["-optimize-unused-variables"],
        "-maxrregcount": ["-maxrregcount=24", "-verbose"],
        "-Xptxas": ["-Xptxas=-O1", "-Xptxas=--warn-on-spills", "-split-compile=2", "-no-cache"],
    }
    for arch in ARCHS:
        for label, list in options.items():
            for name, adds in sets.items():
                if arch == "sm_80" and label in ("-time -verbose", "-kernels-used two", "-maxrregcount", "-O0"):
                    continue
                yield f"link/{arch}/{label}/{name}", link(["-arch=" + arch, *list], *adds(arch))
    for arch in ["sm_90a", "sm_86", "sm_89", "sm_100a", "sm_100f", "sm_103"]:
        base = {"sm_86": "sm_80", "sm_89": "sm_80", "sm_90a": "sm_90"}.get(arch, "sm_100")
        for name in ["cubins", "ptx", "fatbin"]:
            yield f"link/{arch}/plain/{name}", link(["-arch=" + arch], *sets[name](base))
    for arch, name in [("sm_100", "single.sm_90"), ("sm_120", "single.sm_80"), ("sm_120", "single.sm_100"), ("sm_90", "single.sm_100"), ("sm_100", "exec.sm_90")]:
        for shown in ["s", None]:
            yield f"link/{arch}/foreign/{name}/{shown}", link(["-arch=" + arch], ["add", CUBIN, name + ".cubin", shown])
    passed_on = ["-fast-compile", "-device-stack-protector=true", *(f"--device-stack-protector={v}" for v in ["true", "false"])]
    passed_on += [f"{name}={value}" for name in ["-Ofc", "--Ofast-compile"] for value in ["0", "min", "mid", "max"]]
    for arch in ARCHS:
        for option in passed_on:
            yield f"link/{arch}/passed on/{option}", link(["-arch=" + arch, option], *sets["ptx"](arch))
    for kind, name in [(CUBIN, "call.sm_90.cubin"), (OBJECT, "host.sm_90.o")]:
        for adds in [[["add", PTX, "bad.ptx", None], ["add", kind, name, "x"]], [["add", kind, name, "x"], ["add", PTX, "bad.ptx", "p"]]]:
            yield f"link/sm_90/refused PTX/{adds[0][2]}, {adds[1][2]}", link(["-arch=sm_90"], *adds)
    lto = [["add", LTOIR, "host.ltoir", "h"], ["add", LTOIR, "host2.ltoir", "h2"]]
    for list in [[], ["-verbose"], ["-ptx"], ["-O0"], ["-kernels-used=from_host"], ["-g"], ["-maxrregcount=32"]]:
        yield f"lto/{list}", [["create", ["-arch=sm_90", "-lto", *list]], *lto, ["complete"], ["ptx"], *END]
    yield "lto/no module", link(["-arch=sm_90", "-lto"], ["add", CUBIN, "single.sm_90.cubin", "s"])
    yield "lto/with object", link(["-arch=sm_90", "-lto"], ["add", LTOIR, "host.ltoir", "h"], ["add", OBJECT, "host2.sm_90.o", "o"])
    yield "lto/undefined", link(["-arch=sm_90", "-lto"], ["add", LTOIR, "host.ltoir", "h"])
    yield "lto/fatbin", link(["-arch=sm_90", "-lto"], ["add", ANY, "host.ltoir", "h"], ["add", ANY, "lto.fatbin", "o"])
    yield "lto/object", link(["-arch=sm_90", "-lto"], ["add", ANY, "host.ltoir", "h"], ["add", ANY, "lto.o", "o"])


def random_scenarios(count=60, seed=1):
    pool = [(CUBIN, "call.sm_90.cubin"), (CUBIN, "twice.sm_90.cubin"), (ANY, "single.sm_90.cubin"), (ANY, "recursive.sm_90.cubin"), (ANY, "garbage"), (PTX, "bad.ptx")]
    pool += [(FATBIN, "twice.sm_90.fatbin"), (OBJECT, "host2.sm_90.o"), (OBJECT, "host.sm_90.o"), (CUBIN, "single.sm_80.cubin"), (PTX, "single.ptx"), (ANY, "plain.o")]
    pool += [(LTOIR, "host2.ltoir"), (FATBIN, "text"), (OBJECT, "lto.o")]
    flags = ["-g", "-verbose", "-lineinfo", "-kernels-used=call", "-kernels-used=single", "-r", "-O0", "-O3", "-optimize-unused-variables", "-variables-used=counter"]
    chance = random.Random(seed)
    for index in range(count):
        picked = chance.sample(pool, chance.randint(1, 5))
        adds = [["add", kind, name, chance.choice([None, f"in{at}"])] for at, (kind, name) in enumerate(picked)]
        options = ["-arch=sm_90"] + chance.sample(flags, chance.randint(0, 2))
        chance.shuffle(options)
        yield f"random/{seed}/{index}", link(options, *adds)


def case_scenarios(cases, data):
    for case in cases:
        adds = []
        for path in case["files"]:
            with open(path, "rb") as file:
                data[path] = file.read()
            adds.append(["add", ANY, path, os.path.basename(path)])
        yield case["name"], link(case["options"], *adds)


# Corrections ----------------------------------------------------------------------------------------------------------------------------------


def codes(result):
    return [r[0] if isinstance(r, list) and r and isinstance(r[0], int) else r for r in result[0]]


def log_of(result, which):
    """Logs of a result: 0 for errors, 1 for everything else."""
    texts = [r[which][2] for r in result[0] if isinstance(r, list) and len(r) == 2 and isinstance(r[which], list) and len(r[which]) == 4]
    return "".join(texts)


def log(result):
    return log_of(result, 0)


def clash(ours, theirs):
    """Merging failed; NVIDIA's library only prints that."""
    printed = ERROR_LINE.search(theirs[1]) and "finish" in log(ours) and "finish" not in log(theirs)
    return printed or ("merge_elf failed" in log(ours) and "merge_elf failed" not in log(theirs))


ERROR_LINE = re.compile("^(error|fatal) +: ", re.M)

# A difference for which one of these holds is a correction: its reason, and a function of the name and both results.
CORRECTIONS = [
    ("NVIDIA's library crashes, hangs or ends the process; ours returns a code", lambda n, o, t: isinstance(t, str) and isinstance(o, list)),
    ("a cubin given as an object is linked; NVIDIA's drops it", lambda n, o, t: re.match(r"content/(single|exec)[^/]*cubin/5$", n)),
    ("a linked file is refused; NVIDIA's drops it", lambda n, o, t: n.startswith("content/exec.") and "linked" in log(o)),
    ("a number that is negative or overflows is not an architecture", lambda n, o, t: n in ("arch/sm_-90", "arch/sm_4294967386")),
    ("clashing definitions are errors; NVIDIA's prints them and returns success", lambda n, o, t: clash(o, t)),
    (
        "warnings of merging are in the info log; NVIDIA's prints them to standard error",
        lambda n, o, t: t[1] and all(line in log_of(o, 1) for line in t[1].splitlines()) and codes(o)[:-3] == codes(t)[:-3],
    ),
    (
        "undefined references stay errors after PTX with an unsupported version was refused",
        lambda n, o, t: n.startswith("order/probe") and ": finish" in log(o) and ": finish" not in log(t),
    ),
    ("a damaged input is refused, with the reason", lambda n, o, t: re.match("damage/|case/bad-|case/sections-passed-through", n) and "bad input" in log(o)),
    ("NVIDIA's library fails with an internal error of its own, nvlink does not", lambda n, o, t: "reference to deleted section" in log(t)),
    (
        "objects of later releases are linked by the rules of their release",
        lambda n, o, t: re.match("case/(old-toolkit|bad-cuinfo-newer)/", n) and "bad input" in log(t) and "bad input" not in log(o),
    ),
    ("code for sm_100 runs on sm_103 and is linked for it, as by nvlink; NVIDIA's library refuses it", lambda n, o, t: re.match("link/sm_103/plain/(cubins|fatbin)$|case/compat-data-only-100/3$", n)),
    ("a linked cubin as input is refused; NVIDIA's library drops it", lambda n, o, t: n.startswith("case/") and "already linked" in log(o)),
    ("an object for sm_90 of CUDA 11 is refused, as by nvlink; NVIDIA's library links it", lambda n, o, t: n == "case/old-toolkit/13"),
    (
        "an older object after one compiled with -ewp is refused, as by nvlink; NVIDIA's library links it",
        lambda n, o, t: n == "case/ewp-mixed/6" and "requires using current toolkit" in log(o),
    ),
    ("Mercury code of a later version is refused when the link is completed", lambda n, o, t: "finalize error for input" in log(t) and "FNLZR" in log(o)),
]

# Those of a library for CUDA 12.
CORRECTIONS_12 = [
    (
        "an architecture that does not exist is refused",
        lambda n, o, t: n.startswith(("arch/", "option/", "order/failed create")) and codes(o)[0] == 3 and " architecture (" in log(o),
    ),
]

# Differences that are known and not corrections.
OPEN = []


def same(ours, theirs):
    if ours[0] == theirs[0]:
        return True
    # A failed link has no file with ours.
    left, right = list(ours[0]), list(theirs[0])
    if len(left) != len(right):
        return False
    failed = False
    for index, (a, b) in enumerate(zip(left, right)):
        if a == b:
            failed = failed or (isinstance(a, int) and a == 6)
            continue
        if failed and a == [6, True] and isinstance(b, list) and b[0] == 0:
            continue
        return False
    return True


def describe(ours, theirs):
    if isinstance(ours, str) or isinstance(theirs, str):
        return f"ours {str(ours)[:300]}, theirs {str(theirs)[:300]}"
    lines = []
    for index, (a, b) in enumerate(zip(ours[0], theirs[0])):
        if a == b:
            continue
        if isinstance(a, list) and isinstance(b, list) and len(a) == 2 and len(b) == 2 and isinstance(a[1], list) and isinstance(b[1], list) and a[0] == 0:
            for left, right in zip(a[1], b[1]):
                if left != right:
                    lines.append(f"  call {index}: section {left[0]} / {right[0]}: {str(left)[:160]} / {str(right)[:160]}")
                    break
            else:
                lines.append(f"  call {index}: {len(a[1])} sections, theirs {len(b[1])}")
        else:
            lines.append(f"  call {index}: ours   {str(a)[:420]}\n          theirs {str(b)[:420]}")
    return "\n".join(lines)


def main():
    ours, theirs, tools, work, cases = sys.argv[1:6]
    wanted = sys.argv[6:]
    twelve = theirs.endswith(".so.12")
    data, directory = build(tools, work, twelve)
    corrections = CORRECTIONS_12 + CORRECTIONS if twelve else CORRECTIONS
    with open(cases) as file:
        cases = json.load(file)
    table = []
    for part in [option_scenarios(), content_scenarios(), order_scenarios(), link_scenarios(), random_scenarios(), case_scenarios(cases, data)]:
        table.extend(part)
    if twelve:
        table = [s for s in table if all(c[0] != "add" or c[2] in data for c in s[1])]
    if wanted:
        table = [s for s in table if any(w in s[0] for w in wanted)]
    counts, failures, remembered = collections.Counter(), [], {}
    # CULD_REMEMBER: NVIDIA's results of an earlier run are used again.
    stored = os.path.join(work, "theirs12.json" if twelve else "theirs.json")
    if os.path.exists(stored) and os.environ.get("CULD_REMEMBER"):
        with open(stored) as file:
            remembered = json.load(file)
    for name, calls in table:
        key = json.dumps([name, calls])
        right = remembered.get(key) or run(theirs, calls, data, directory)
        remembered[key] = right
        left = run(ours, calls, data, directory)
        group = name.split("/")[0]
        counts[group, "all"] += 1
        if isinstance(left, list) and left[0] != "runner" and left[1]:
            failures.append((name, f"printed: {left[1][:300]}"))
            continue
        if left == right or (isinstance(left, list) and isinstance(right, list) and same(left, right)):
            counts[group, "same"] += 1
            continue
        reason = next((r for r, holds in corrections if holds(name, left, right)), None) if isinstance(left, list) and left[0] != "runner" else None
        known = next((r for r, holds in OPEN if holds(name)), None)
        if reason:
            counts["correction", reason] += 1
            counts[group, "corrected"] += 1
        elif known:
            counts["open", known] += 1
            counts[group, "open"] += 1
        else:
            failures.append((name, describe(left, right)))
    if os.environ.get("CULD_REMEMBER"):
        with open(f"{stored}.{os.getpid()}", "w") as file:
            json.dump(remembered, file)
        os.replace(f"{stored}.{os.getpid()}", stored)
    for name, text in failures:
        print(f"FAILED  {name}\n{text}")
    groups = sorted({g for g, _ in counts if g not in ("correction", "open")})
    for group in groups:
        print(f"{group}: {counts[group, 'same']} same, {counts[group, 'corrected']} corrected, {counts[group, 'open']} open of {counts[group, 'all']}")
    for (kind, reason), count in sorted(counts.items()):
        if kind in ("correction", "open"):
            print(f"  {kind} {count}: {reason}")
    total = sum(counts[g, "all"] for g in groups)
    print(f"{sum(counts[g, 'same'] for g in groups)} same, {sum(counts[g, 'corrected'] for g in groups)} corrected, {sum(counts[g, 'open'] for g in groups)} open, {len(failures)} different, of {total}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
