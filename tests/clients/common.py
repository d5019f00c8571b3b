"""What the clients' scripts share: each check prints one line of JSON, its name and what was seen."""

import hashlib
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "nvjitlink"))
import scenarios  # noqa: E402

INPUTS = pathlib.Path(os.environ.get("CLIENT_INPUTS", "."))


def data(name):
    """An input: a compiled file, or PTX of tests/nvjitlink/inputs."""
    path = INPUTS / name
    return path.read_bytes() if path.exists() else (pathlib.Path(scenarios.SOURCES) / name).read_bytes()


def image(linked):
    """A linked file, without the note that names the tool, as a short text."""
    linked = bytes(linked)
    return f"{linked[:4]!r} {hashlib.sha256(repr(scenarios.sections(linked)).encode()).hexdigest()[:16]}"


def check(name):
    """Runs the function that follows and prints what it returns; an exception is its type and the first line of its text."""

    def run(function):
        try:
            value = function()
        except Exception as e:
            text = re.sub(r"0x[0-9a-f]+", "ADDRESS", str(e))
            value = f"{type(e).__name__}: {text.splitlines()[0] if text else ''}"
        print(json.dumps({"check": name, "value": value}, default=str), flush=True)

    return run


def loaded():
    """The libraries called libnvJitLink in this process."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if "libnvJitLink" in line})
