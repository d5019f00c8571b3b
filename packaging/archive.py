"""Packs a directory into a .tar.gz or .zip whose bytes depend only on its contents: archive.py DIRECTORY FILE EPOCH."""

import gzip
import pathlib
import sys
import tarfile
import time
import zipfile


def main():
    root, file, epoch = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    paths = sorted(p for p in root.rglob("*") if p.is_file())
    mode = lambda p: 0o755 if p.parent.name == "bin" else 0o644
    name = lambda p: f"{root.name}/{p.relative_to(root).as_posix()}"
    if file.endswith(".zip"):
        when = time.gmtime(max(epoch, 315532800))[:6]
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            for path in paths:
                info = zipfile.ZipInfo(name(path), when)
                info.external_attr = (0o100000 | mode(path)) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                out.writestr(info, path.read_bytes())
        return
    with open(file, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as out:
            for path in paths:
                info = tarfile.TarInfo(name(path))
                info.size, info.mtime, info.mode = path.stat().st_size, epoch, mode(path)
                with path.open("rb") as data:
                    out.addfile(info, data)


main()
