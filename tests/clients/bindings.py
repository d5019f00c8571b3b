"""cuda.bindings.nvjitlink: every function, with good and bad inputs."""

from common import INPUTS, check, data, image
from cuda.bindings import nvjitlink as nv

T = nv.InputType
KINDS = [
    ("cubin", T.CUBIN, "call.sm_90.cubin", T.CUBIN, "twice.sm_90.cubin"),
    ("ptx", T.PTX, "call.ptx", T.PTX, "twice.ptx"),
    ("fatbin", T.CUBIN, "call.sm_90.cubin", T.FATBIN, "twice.sm_90.fatbin"),
    ("object", T.OBJECT, "host.sm_90.o", T.OBJECT, "host2.sm_90.o"),
    ("archive", T.LIBRARY, "both.sm_90.a", None, None),
    ("any", T.ANY, "call.sm_90.cubin", T.ANY, "twice.sm_90.cubin"),
    ("ltoir", T.LTOIR, "host.ltoir", T.LTOIR, "host2.ltoir"),
]


def logs(handle):
    error, info = bytearray(nv.get_error_log_size(handle)), bytearray(nv.get_info_log_size(handle))
    if error:
        nv.get_error_log(handle, error)
    if info:
        nv.get_info_log(handle, info)
    return bytes(error).rstrip(b"\0").decode(), bytes(info).rstrip(b"\0").decode()


def linked(handle):
    out = bytearray(nv.get_linked_cubin_size(handle))
    nv.get_linked_cubin(handle, out)
    return image(out)


@check("version")
def _():
    return nv.version()[0]


for label, *pairs in KINDS:
    for way in ["data", "file"]:
        if way == "file" and label == "ptx":
            continue

        @check(f"{label} from {way}")
        def _():
            options = ["-arch=sm_90", "-lto"] if label == "ltoir" else ["-arch=sm_90"]
            handle = nv.create(len(options), options)
            for kind, name in [pairs[:2], pairs[2:]]:
                if kind is None:
                    continue
                if way == "data":
                    content = data(name) + (b"\0" if kind == T.PTX else b"")
                    nv.add_data(handle, kind, content, len(content), name)
                else:
                    nv.add_file(handle, kind, str(INPUTS / name))
            nv.complete(handle)
            result = linked(handle), logs(handle)
            nv.destroy(handle)
            return result


@check("linked PTX")
def _():
    handle = nv.create(3, ["-arch=sm_90", "-lto", "-ptx"])
    for name in ["host.ltoir", "host2.ltoir"]:
        nv.add_data(handle, T.LTOIR, data(name), len(data(name)), name)
    nv.complete(handle)
    out = bytearray(nv.get_linked_ptx_size(handle))
    nv.get_linked_ptx(handle, out)
    nv.destroy(handle)
    return len(out), b".visible .entry" in out


@check("linked LTO IR size without -lto")
def _():
    handle = nv.create(1, ["-arch=sm_90"])
    return nv.get_linked_ltoir_size(handle)


@check("linked LTO IR without -lto")
def _():
    handle = nv.create(1, ["-arch=sm_90"])
    return nv.get_linked_ltoir(handle, bytearray(1))


@check("no architecture")
def _():
    return nv.create(0, [])


@check("unknown option")
def _():
    return nv.create(2, ["-arch=sm_90", "-nonsense"])


@check("undefined reference")
def _():
    handle = nv.create(1, ["-arch=sm_90"])
    nv.add_data(handle, T.CUBIN, data("call.sm_90.cubin"), len(data("call.sm_90.cubin")), "call")
    try:
        nv.complete(handle)
    except nv.nvJitLinkError as e:
        return str(e).splitlines()[0], logs(handle)


@check("bad PTX")
def _():
    handle = nv.create(1, ["-arch=sm_90"])
    text = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense; }\n\0"
    try:
        nv.add_data(handle, T.PTX, text, len(text), "bad.ptx")
    except nv.nvJitLinkError as e:
        return str(e).splitlines()[0], bool(logs(handle)[0])


@check("undefined reference after bad PTX")
def _():
    handle = nv.create(1, ["-arch=sm_90"])
    nv.add_data(handle, T.CUBIN, data("call.sm_90.cubin"), len(data("call.sm_90.cubin")), "call")
    nv.complete(handle)


@check("a file that does not exist")
def _():
    handle = nv.create(1, ["-arch=sm_90"])
    nv.add_file(handle, T.CUBIN, "nonexistent.cubin")


@check("cubin before complete")
def _():
    return nv.get_linked_cubin_size(nv.create(1, ["-arch=sm_90"]))


# The last one: NVIDIA's library may end the process.
@check("definitions in an object and in an archive")
def _():
    handle = nv.create(1, ["-arch=sm_90"])
    for kind, name in [(T.OBJECT, "host.sm_90.o"), (T.LIBRARY, "both.sm_90.a")]:
        nv.add_data(handle, kind, data(name), len(data(name)), name)
    nv.complete(handle)
