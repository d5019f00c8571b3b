"""Runs clients of libnvJitLink with NVIDIA's library and with ours: run.py OURS TOOLS WORK [NAME..]

1. Inputs are compiled as for tests/nvjitlink.
2. Every client's script runs twice, each time in a process of its own: with NVIDIA's library of the package nvidia-nvjitlink, and with ours in front
   (LD_PRELOAD; tinygrad through NVJITLINK_PATH). It prints one line of JSON per check.
3. A client passes when both print the same, except for checks in CORRECTED, where ours must not succeed wrongly.
4. The program header.c is built with the nvJitLink.h of that package and with the newest.
5. CULD_CUDA_PYTHON_TESTS=FILE names `cuda_bindings/tests/test_nvjitlink.py` of cuda-python, whose license keeps it out of this repository: pytest runs it with
   both libraries.
"""

import glob
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "nvjitlink"))
import scenarios  # noqa: E402

SCRIPTS = {"cuda-bindings": "bindings.py", "cuda.core": "core.py", "numba-cuda": "kernels.py", "cuda-cccl": "cccl.py", "tinygrad": "tiny.py"}
# Differences that docs/nvjitlink.md lists as corrections.
CORRECTED = {
    ("header", "xla: after the probe, undefined"): "undefined references stay errors after a probe",
    ("cuda-bindings", "definitions in an object and in an archive"): "clashing definitions are errors",
    ("cuda-bindings", "end"): "NVIDIA's library crashes after clashing definitions",
    ("cuda-bindings", "linked LTO IR"): "the functions exist; in NVIDIA's library only from a later release on",
}


def headers(work):
    """Directories with nvJitLink.h: that of the package, and the newest."""
    own = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia/cu13"
    newest = work / "newest"
    if not list(newest.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", newest, "nvidia-nvjitlink"], check=True)
    wheel = next(newest.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith("nvJitLink.h") or ".so." in name:
                archive.extract(name, newest)
    found = next(newest.rglob("nvJitLink.h"))
    return {"13.0.88": (own / "include", own / "lib"), wheel.name.split("-")[1]: (found.parent, found.parent.parent / "lib")}


def seen(command, environment):
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"end": "timeout"}
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    out, order = {}, ""
    for row in rows:
        # lines that continue the check before them
        order = row["check"] if not row["check"].startswith("  ") else order + row["check"]
        out[order] = row["value"]
    if done.returncode:
        out["end"] = f"exit code {done.returncode}: {done.stderr[-300:]}"
    return out


def upstream(file, environment):
    """The outcome of every test of a file, by pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--tb=no", "--no-header", file]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    words = [line.split(" - ")[0].split(None, 1) for line in done.stdout.splitlines()]
    out = {w[1].split("::", 1)[-1]: w[0] for w in words if len(w) == 2 and w[0] in ("PASSED", "FAILED", "SKIPPED", "ERROR")}
    if done.returncode not in (0, 1) or not out:
        out["end"] = f"exit code {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
    print(f"    {sum(v == 'PASSED' for v in out.values())} of {len(out)} pass with {environment['NVJITLINK_PATH'].rsplit('/', 1)[-1]}"
          f" of {'culd' if 'LD_PRELOAD' in environment else 'NVIDIA'}")
    return out


def good(value):
    """A check that did what it was for: no exception. Refusals are expected values too, so that this counts both."""
    return not (isinstance(value, str) and ("ImportError" in value or "OSError" in value or "AttributeError" in value or "TypeError" in value))


def compare(client, theirs, ours, group):
    names = list(dict.fromkeys([*theirs, *ours]))
    same = [n for n in names if theirs.get(n) == ours.get(n)]
    corrected = [n for n in names if n not in same and any(group == g and n.startswith(c) for g, c in CORRECTED)]
    corrected = [n for n in corrected if n != "end" or n not in ours]
    different = [n for n in names if n not in same and n not in corrected]
    ran = sum(good(v) for v in theirs.values()), sum(good(v) for v in ours.values())
    print(f"{client}: {len(same)} same, {len(corrected)} corrected, {len(different)} different of {len(names)} (ran: NVIDIA {ran[0]}, culd {ran[1]})")
    for name in names:
        if not good(ours.get(name)) and name in same:
            print(f"    not possible here: {name}: {ours.get(name)}")
    for name in different:
        print(f"    {name}\n        NVIDIA {theirs.get(name)}\n        culd   {ours.get(name)}")
    return not different and bool(names)


def main():
    ours, tools, work, *names = sys.argv[1:]
    work = pathlib.Path(work)
    _, inputs = scenarios.build(tools, str(work), False)
    theirs = glob.glob(sysconfig.get_path("purelib") + "/nvidia/cu13/lib/libnvJitLink.so.13")[0]
    base = dict(os.environ, CLIENT_INPUTS=inputs, CULD_PTXAS=str(pathlib.Path(tools) / "ptxas"), CULD_NVJITLINK=theirs)
    fine = True
    for client, script in SCRIPTS.items():
        if names and client not in names:
            continue
        sides = []
        for library in [theirs, ours]:
            environment = dict(base, NVJITLINK_PATH=library)
            if library == ours and client != "tinygrad":
                environment["LD_PRELOAD"] = ours
            sides.append(seen([sys.executable, str(HERE / script)], environment))
        fine &= compare(client, *sides, client)
    tests = os.environ.get("CULD_CUDA_PYTHON_TESTS")
    if tests and (not names or "cuda-python" in names):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "pytest"], check=True)
        sides = [upstream(tests, dict(base, NVJITLINK_PATH=theirs)), upstream(tests, dict(base, NVJITLINK_PATH=ours, LD_PRELOAD=ours))]
        fine &= compare("tests of cuda-python", *sides, "cuda-python")
    if not names or "header" in names:
        for version, (include, lib) in headers(work).items():
            program = work / f"header-{version}"
            library = next(lib.glob("libnvJitLink.so.13*"))
            # linked with the library that the header belongs to; the loader takes the one in LD_LIBRARY_PATH
            subprocess.run(["cc", "-Wall", "-Werror", HERE / "header.c", f"-I{include}", library, "-o", program], check=True)
            files = [pathlib.Path(scenarios.SOURCES) / name for name in ["call.ptx", "twice.ptx"]]
            sides = []
            for directory in [library.parent, pathlib.Path(ours).parent]:
                sides.append(seen([str(program), *map(str, files)], dict(base, LD_LIBRARY_PATH=str(directory))))
            fine &= compare(f"C program with the header of {version}", *sides, "header")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
