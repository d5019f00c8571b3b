#!/usr/bin/env python3
"""Damaged inputs of links with -lto, each in a process of its own.

    damaged.py LIBRARY COUNT SEED FILE..

Every file is cut, or has bytes or words changed, COUNT times; it is then added to a link with -lto under its type or as ANY. A process that
ends by a signal, or runs for more than 20 seconds, is a failure. With CULD_NVJITLINK the links go on to NVIDIA's library.
"""
import collections
import ctypes
import os
import random
import signal
import sys


def damaged(data, rng):
    data = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(data[: rng.randrange(1, len(data))])
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data)) if rng.random() < 0.5 else rng.randrange(min(len(data), 256))
        if kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at] = rng.choice([0, 0xFF, 0x7F, 0x80, rng.randrange(256)])
        else:
            at &= ~3
            data[at : at + 4] = rng.choice([0, 0xFFFFFFFF, 0x7FFFFFFF, 0x10000, rng.randrange(1 << 32)]).to_bytes(4, "little")
    return bytes(data)


def link(library, data, kind):
    calls = ctypes.CDLL(library)
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * 2)(b"-arch=sm_90", b"-lto")
    if calls.nvJitLinkCreate(ctypes.byref(handle), 2, options):
        return 100
    code = calls.nvJitLinkAddData(handle, kind, data, ctypes.c_size_t(len(data)), b"input")
    done = calls.nvJitLinkComplete(handle)
    calls.nvJitLinkDestroy(ctypes.byref(handle))
    return code or 32 + done


def main():
    library, count, seed, *files = sys.argv[1:]
    totals, crashes = collections.Counter(), 0
    null = os.open(os.devnull, os.O_WRONLY)
    for file in files:
        whole = open(file, "rb").read()
        kind = {"cubin": 1, "ltoir": 3, "fatbin": 4, "o": 5, "a": 6}[file.rsplit(".", 1)[1]]
        results = collections.Counter()
        for number in range(int(count)):
            rng = random.Random(f"{seed} {os.path.basename(file)} {number}")
            data, as_kind = damaged(whole, rng), rng.choice([kind, 10])
            child = os.fork()
            if child == 0:
                os.dup2(null, 1), os.dup2(null, 2)
                signal.alarm(20)
                os._exit(link(library, data, as_kind))
            status = os.waitpid(child, 0)[1]
            results["signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)] += 1
            if os.WIFSIGNALED(status):
                crashes += 1
                open(f"/tmp/damaged-{os.path.basename(file)}-{number}", "wb").write(data)
        print(os.path.basename(file), dict(sorted(results.items(), key=str)))
        totals.update(results)
    print(sum(totals.values()), "links,", crashes, "ended by a signal")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
