#!/usr/bin/env python3
"""nvJitLink in nvlink's place, for toolkits whose nvlink cannot be installed from PyPI: a directory with ptxas, libnvJitLink.so.12 and a link to
this file called nvlink is an oracle. Exit code 0 and the linked file, or 1 and the library's log. Options that the library lacks are ignored;
`cargo xtask random` leaves out those that change the output.
"""
import ctypes, os, sys, tempfile

TAKES_VALUE = {"-o", "-m", "-L", "-l", "--tool-name", "--register-link-binaries"}
KEPT = ("-arch=", "-g", "--kernels-used=", "--variables-used=")


def load(path):
    library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | getattr(os, "RTLD_DEEPBIND", 0))

    def function(name):
        # The library exports its functions with the version in the name, too.
        for symbol in [name] + [f"__{name}_{a}_{b}" for a in (12, 13) for b in range(12)]:
            try:
                return getattr(library, symbol)
            except AttributeError:
                pass
        sys.exit(f"no {name} in {path}")

    return function


def main():
    output, options, files, words = None, [], [], sys.argv[1:]
    while words:
        word = words.pop(0)
        if word in TAKES_VALUE:
            value = words.pop(0)
            output = value if word == "-o" else output
        elif word.startswith("-"):
            if word.startswith(KEPT) and word != "-gpu":
                name, _, values = word.replace("--", "-", 1).partition("=")
                # One name per option.
                options += [f"{name}={v}" for v in values.split(",")] if values else [name]
        elif os.path.exists(word):
            files.append(word)
    call = load(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "libnvJitLink.so.12"))
    handle = ctypes.c_void_p()
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])

    def log():
        size = ctypes.c_size_t()
        if not handle.value or call("nvJitLinkGetErrorLogSize")(handle, ctypes.byref(size)) != 0 or not size.value:
            return ""
        buffer = ctypes.create_string_buffer(size.value + 1)
        call("nvJitLinkGetErrorLog")(handle, buffer)
        return buffer.value.decode(errors="replace")

    # The library also prints errors, and then may go on.
    printed = tempfile.TemporaryFile()
    stderr = os.dup(2)
    os.dup2(printed.fileno(), 2)

    def check(result):
        printed.seek(0)
        text = printed.read().decode(errors="replace")
        if result == 0 and not text.startswith("error "):
            return
        os.write(stderr, (text + log() or f"nvJitLink error {result}\n").encode())
        os._exit(1)

    check(call("nvJitLinkCreate")(ctypes.byref(handle), ctypes.c_uint32(len(options)), array))
    # The libraries of 12.0 to 12.2 read inputs until the link is complete.
    inputs = []
    for number, name in enumerate(files):
        with open(name, "rb") as file:
            data = file.read()
        inputs.append(data)
        check(call("nvJitLinkAddData")(handle, 1, data, ctypes.c_size_t(len(data)), f"{number}-{os.path.basename(name)}".encode()))
    check(call("nvJitLinkComplete")(handle))
    size = ctypes.c_size_t()
    check(call("nvJitLinkGetLinkedCubinSize")(handle, ctypes.byref(size)))
    image = ctypes.create_string_buffer(size.value)
    check(call("nvJitLinkGetLinkedCubin")(handle, image))
    with open(output, "wb") as file:
        file.write(image.raw[: size.value])
    # The libraries of 12.0 to 12.2 may crash when they are unloaded.
    os._exit(0)


main()
