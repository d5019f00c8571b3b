"""grow.py IN OUT FUNCTION SIZE..: makes the literals (bank 2) of functions larger, with zeros at the end."""
import struct, sys

source, target, *pairs = sys.argv[1:]
d = bytearray(open(source, "rb").read())
(shoff,) = struct.unpack_from("<Q", d, 0x28)
count, names = struct.unpack_from("<HH", d, 0x3C)
headers = [list(struct.unpack_from("<IIQQQQIIQQ", d, shoff + 64 * i)) for i in range(count)]
at = lambda h: headers[names][4] + h[0]
name = lambda h: d[at(h) : d.index(0, at(h))].decode()
mercury = any(name(h).startswith(".nv.merc.") for h in headers)
prefix = ".nv.merc.nv.constant.optimizer." if mercury else ".nv.constant2."
for function, size in zip(pairs[::2], pairs[1::2]):
    size = int(size, 0)
    i, h = next((i, h) for i, h in enumerate(headers) if name(h) == prefix + function)
    data = (bytes(d[h[4] : h[4] + h[5]]) + bytes(size))[:size]
    d += bytes(-len(d) % 64)
    h[4], h[5] = len(d), size
    d += data
    struct.pack_into("<IIQQQQIIQQ", d, shoff + 64 * i, *h)
    for t in headers:
        if t[1] not in (2, 0x70000085):
            continue
        for a in range(t[4], t[4] + t[5], 24):
            info, other, section, value, length = struct.unpack_from("<BBHQQ", d, a + 4)
            if section == i and info & 15 != 3 and length:
                struct.pack_into("<Q", d, a + 16, size - value)
open(target, "wb").write(d)
