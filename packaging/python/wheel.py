"""Builds a wheel with the program culd: wheel.py --stage DIR --out DIR --version V --platform TAG --epoch SECONDS.

1. The program becomes a script of the wheel: pip puts it into `bin` (or `Scripts`) as it is.
2. Python modules are those of the directory `culd` beside this file, if there is one.
3. Libraries of the stage, libculd and libnvJitLink, come into `culd/lib`, where the modules look for them.
4. The CMake files come into `culd/cmake`: uv removes no directories outside of the packages, so that `share/cmake/culd` would stay.
5. Order and times are fixed, so that two builds give the same bytes.
"""

import argparse
import base64
import hashlib
import pathlib
import time
import zipfile

# License-Expression and License-File exist from metadata version 2.4 on; PyPI refuses them in an older one.
METADATA = """\
Metadata-Version: 2.4
Name: culd
Version: {version}
Summary: Device linker for CUDA, also as a replacement for nvlink
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-MIT
License-File: LICENSE-APACHE
Requires-Python: >=3.8
Keywords: cuda,linker,gpu,cubin,nvlink
Description-Content-Type: text/markdown

{readme}"""


def main():
    parser = argparse.ArgumentParser()
    for name in ["stage", "out", "version", "platform", "epoch"]:
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    stage, here = pathlib.Path(args.stage), pathlib.Path(__file__).parent
    info, data = f"culd-{args.version}.dist-info", f"culd-{args.version}.data"
    documents = stage / "share/doc/culd"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in args.platform.split("."))
    entries = {}
    for program in sorted((stage / "bin").iterdir()):
        entries[f"{data}/scripts/{program.name}"] = program.read_bytes()
    entries[f"{data}/data/share/man/man1/culd.1"] = (stage / "share/man/man1/culd.1").read_bytes()
    for name in ["culdConfig.cmake", "culdConfigVersion.cmake"]:
        entries[f"culd/cmake/{name}"] = (stage / "share/cmake/culd" / name).read_bytes()
    for module in sorted((here / "culd").rglob("*")):
        if module.is_file() and "__pycache__" not in module.parts:
            entries[module.relative_to(here).as_posix()] = module.read_bytes()
    if (stage / "lib").is_dir():
        for library in sorted((stage / "lib").iterdir()):
            if library.is_file() and (".so" in library.name or library.suffix == ".dll"):
                entries[f"culd/lib/{library.name}"] = library.read_bytes()
    readme = (here / "README.md").read_text(encoding="utf-8")
    entries[f"{info}/METADATA"] = METADATA.format(version=args.version, readme=readme).encode()
    entries[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: culd xtask dist\nRoot-Is-Purelib: false\n{tags}".encode()
    for license in ["LICENSE-MIT", "LICENSE-APACHE"]:
        entries[f"{info}/licenses/{license}"] = (documents / license).read_bytes()
    entries[f"{info}/sboms/culd.spdx.json"] = (documents / "sbom.spdx.json").read_bytes()
    record = ""
    for name, content in entries.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    entries[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    out = pathlib.Path(args.out) / f"culd-{args.version}-py3-none-{args.platform}.whl"
    when = time.gmtime(max(int(args.epoch), 315532800))[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if "/scripts/" in name or "/lib/" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(out)


main()
