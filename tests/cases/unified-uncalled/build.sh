python3 -c "from mkuidx import uidx; uidx('index', [(1, 2, 0)], [])"
