import struct


def uidx(name, functions, data, function_window=None, data_window=None):
    """Writes an index file: entries are (id, id, offset)."""
    fw = 0x80 * len(functions) if function_window is None else function_window
    head = struct.pack('<QIIQQQQ', 0x58444E495446557F, 1, 0, fw, len(functions), data_window or 0, len(data))
    with open(name, 'wb') as out:
        out.write(head + b''.join(struct.pack('<QQQ', *e) for e in functions + data))
