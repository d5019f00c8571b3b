"""The package from outside, with the bundled example objects. Run with pytest after installing the wheel, or with CULD_LIBRARY set."""

import pathlib
import pickle
import subprocess
import sys
import threading

import culd
import pytest

DATA = pathlib.Path(__file__).parents[3] / "crates/culd/examples/data"
SAXPY, COMBINE = DATA / "saxpy.cubin", DATA / "combine.cubin"


def test_files_and_bytes_give_the_same_image():
    files = culd.link("sm_90", [SAXPY, COMBINE])
    memory = culd.link("sm_90", [("saxpy.cubin", SAXPY.read_bytes()), COMBINE.read_bytes()])
    assert files.image[:4] == b"\x7fELF"
    assert files.image == memory.image
    assert [k.name for k in files.kernels] == ["saxpy"]
    assert files.kernels[0].registers > 0 and files.kernels[0].constant_banks


def test_a_failed_link_tells_why():
    with pytest.raises(culd.LinkError) as caught:
        culd.link("sm_90", [SAXPY])
    first = caught.value.diagnostics[0]
    assert (first.severity, first.code) == ("error", "UndefinedReference")
    assert first.symbol and first.symbol in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).diagnostics == caught.value.diagnostics


def test_options_are_checked():
    with pytest.raises(ValueError):
        culd.Linker("sm_9")
    with pytest.raises(ValueError):
        culd.Linker("sm_90", release="9.0")
    with pytest.raises(TypeError):
        culd.Linker("sm_90", kernels_used="saxpy")
    with pytest.raises(culd.LinkError):
        culd.link("sm_80", [SAXPY, COMBINE])
    with pytest.raises(culd.LinkError):
        culd.Linker("sm_90").add(("a", b"\x7fELF"), kind=culd.InputKind.CUBIN).link()


def test_a_relocatable_object_links_again():
    partial = culd.link("sm_90", [SAXPY, COMBINE], relocatable=True)
    again = culd.link("sm_90", [("partial.cubin", partial.image)], verify=True)
    assert [k.name for k in again.kernels] == ["saxpy"]


def test_dump_and_diff(tmp_path):
    linked = culd.link("sm_90", [SAXPY, COMBINE])
    linked.save(tmp_path / "out.cubin")
    assert (tmp_path / "out.cubin").read_bytes() == linked.image
    assert "saxpy" in str(culd.dump(tmp_path / "out.cubin"))
    assert culd.diff(linked.image, tmp_path / "out.cubin") == ""
    assert culd.diff(SAXPY, COMBINE) != ""


def test_threads_do_not_disturb_each_other():
    want = culd.link("sm_90", [SAXPY, COMBINE]).image
    got = []

    def work():
        for _ in range(20):
            got.append(culd.link("sm_90", [SAXPY, COMBINE]).image == want)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [True] * 160


def in_process(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def test_the_program_is_there():
    done = subprocess.run([sys.executable, "-m", "culd", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and "culd" in done.stdout


def test_activate_puts_our_library_in_front():
    done = in_process(
        "import ctypes, culd\n"
        "path = culd.activate()\n"
        "assert culd.activate() == path\n"
        "everything = ctypes.CDLL(None)\n"
        "major, minor = ctypes.c_uint(), ctypes.c_uint()\n"
        "assert everything.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor)) == 0\n"
        "assert ctypes.CDLL('libnvJitLink.so.13').nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor)) == 0\n"
        "print(major.value)"
    )
    assert (done.stdout, done.stderr) == ("13\n", "")


def test_activate_for_cuda_12():
    done = in_process(
        "import ctypes, culd\n"
        "culd.activate(12)\n"
        "major, minor = ctypes.c_uint(), ctypes.c_uint()\n"
        "ctypes.CDLL('libnvJitLink.so.12').nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))\n"
        "print(major.value, minor.value)"
    )
    assert (done.stdout, done.stderr) == ("12 9\n", "")


def test_activate_with_cuda_bindings():
    """cuda.bindings links with the library that was loaded before it was imported."""
    pytest.importorskip("cuda.bindings")
    done = in_process(
        "import culd, sys\n"
        "culd.activate()\n"
        "from cuda.bindings import nvjitlink\n"
        "handle = nvjitlink.create(1, ['-arch=sm_90'])\n"
        "for name in sys.argv[1:]:\n"
        "    data = open(name, 'rb').read()\n"
        "    nvjitlink.add_data(handle, nvjitlink.InputType.CUBIN, data, len(data), name)\n"
        "nvjitlink.complete(handle)\n"
        "image = bytearray(nvjitlink.get_linked_cubin_size(handle))\n"
        "nvjitlink.get_linked_cubin(handle, image)\n"
        "print(image[:4] == b'\\x7fELF', b'culd' in image)",
        *[str(DATA / name) for name in ("saxpy.cubin", "combine.cubin")],
    )
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_activate_says_that_it_is_too_late(tmp_path):
    import shutil

    other = tmp_path / "libnvJitLink.so.13"
    shutil.copy(culd.nvjitlink_path(), other)
    # The one of a wheel is thin: its functions are those of libculd beside it.
    shutil.copy(culd.library_path(), tmp_path)
    done = in_process(f"import ctypes, culd\nctypes.CDLL({str(other)!r})\nculd.activate()")
    assert done.returncode == 1 and "is loaded already" in done.stderr


def test_a_package_without_libraries_runs_the_program(tmp_path):
    """Wheels for musl and macOS have no libraries: the same calls give the same results through the program."""
    import os
    import shutil

    package = pathlib.Path(culd.__path__[0])
    shutil.copytree(package, tmp_path / "culd", ignore=shutil.ignore_patterns("lib", "__pycache__"))
    code = (
        "import culd, pickle, sys\n"
        "assert not culd.has_library()\n"
        "a, b = sys.argv[1:]\n"
        "data = open(a, 'rb').read()\n"
        "linked = culd.link('sm_90', [('first', data), b], verify=True)\n"
        "try:\n"
        "    culd.link('sm_90', [('first', data)])\n"
        "except culd.LinkError as error:\n"
        "    failed = error.diagnostics[0]\n"
        "results = [linked.kernels, linked.memory, linked.image[:4], failed.code, failed.symbol, failed.file, culd.version(),\n"
        "           culd.diff(a, b), culd.dump(linked.image)['kind'], culd.dump(a)]\n"
        "for wrong in (culd.activate, lambda: culd.Linker('sm_90', release='12.9')):\n"
        "    try:\n"
        "        wrong()\n"
        "        sys.exit('no error')\n"
        "    except (ImportError, NotImplementedError):\n"
        "        pass\n"
        "sys.stdout.buffer.write(pickle.dumps(results))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "CULD_PROGRAM": culd.program_path()}
    environment.pop("CULD_LIBRARY", None)
    done = subprocess.run([sys.executable, "-c", code, str(SAXPY), str(COMBINE)], capture_output=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    linked = culd.link("sm_90", [("first", SAXPY.read_bytes()), COMBINE])
    with pytest.raises(culd.LinkError) as caught:
        culd.link("sm_90", [("first", SAXPY.read_bytes())])
    failed = caught.value.diagnostics[0]
    assert pickle.loads(done.stdout) == [
        linked.kernels, linked.memory, linked.image[:4], failed.code, failed.symbol, failed.file, culd.version(),
        culd.diff(SAXPY, COMBINE), culd.dump(linked.image)["kind"], culd.dump(SAXPY),
    ]
