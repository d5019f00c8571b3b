"""`python -m culd` runs the program that the wheel has installed."""

import os
import sys
import sysconfig


def main() -> "int":
    name = "culd.exe" if os.name == "nt" else "culd"
    for scheme in [sysconfig.get_default_scheme() if hasattr(sysconfig, "get_default_scheme") else None, f"{os.name}_user"]:
        if scheme in sysconfig.get_scheme_names():
            program = os.path.join(sysconfig.get_path("scripts", scheme), name)
            if os.path.exists(program):
                if os.name == "nt":
                    import subprocess

                    return subprocess.call([program, *sys.argv[1:]])
                os.execv(program, ["culd", *sys.argv[1:]])
    print("the program culd is not installed beside this package", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
