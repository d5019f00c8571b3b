python3 -c "
from mkuidx import uidx
F = lambda slots: [(i, 1000 + i, 0x80 * s) for i, s in slots]
D = [(51, 52, 8), (53, 54, 4), (55, 56, 0)]
uidx('two', F([(1, 2), (2, 0), (3, 1)]), D, data_window=12)
uidx('bc', F([(3, 1), (4, 3), (5, 0), (6, 2)]), D[2:], data_window=4)
"
