python3 -c "
import struct
from mkuidx import uidx
F = lambda slots: [(i, 1000 + i, 0x80 * s) for i, s in slots]
S = F([(1, 2), (2, 0), (3, 1)])
D = [(51, 52, 8), (53, 54, 4), (55, 56, 0)]
uidx('two', S, D, data_window=12)
uidx('short', S[:2], D, data_window=12)
uidx('unknown', S, D + [(7, 9, 12)], data_window=12)
uidx('similar', S, D + [(7, 8, 12)], data_window=12)
# Version 2: 16 bytes more for each function, after all records.
index = open('two', 'rb').read()
open('second', 'wb').write(index[:8] + struct.pack('<I', 2) + index[12:] + bytes(48))
"
