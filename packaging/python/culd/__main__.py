"""`python -m culd` runs the program that the wheel has installed."""

import os
import subprocess
import sys

from ._program import program_path


def main() -> "int":
    try:
        program = program_path()
    except ImportError as error:
        print(error, file=sys.stderr)
        return 1
    if os.name == "nt":
        return subprocess.call([program, *sys.argv[1:]])
    os.execv(program, ["culd", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
