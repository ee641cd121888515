"""Other implementations of OpenCL, each in a process of its own, fed with pickles.

The loader reads its drivers once, when PyOpenCL is imported, and Intel's runtime for CPUs is not
registered with the system; so each implementation gets a process with its own environment.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

INTEL = Path(sys.prefix) / "lib" / "libintelocl.so"
NAMES = {"pocl": "Portable", "intel": "Intel"}
_ABSENT = 77  # exit status


def ask(script: Path, name: str, cases: list[Any]) -> list[Any] | str:
    """What `script`, run with an implementation, makes of the cases; a text if it is not there."""
    with tempfile.TemporaryDirectory() as place:
        environment = dict(os.environ)
        if name == "intel":
            if not INTEL.exists():
                return "Intel's OpenCL runtime for CPUs is not installed (pip: intel-opencl-rt)"
            (Path(place) / "intel.icd").write_text(f"{INTEL}\n")
            environment["OCL_ICD_VENDORS"] = place
        done = subprocess.run(
            [sys.executable, str(script), name],
            input=pickle.dumps(cases),
            capture_output=True,
            env=environment,
            timeout=300,
            check=False,
        )
    if done.returncode == _ABSENT:
        return done.stderr.decode()
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-2000:])
    found: list[Any] = pickle.loads(done.stdout)
    return found


def context(name: str) -> Any:
    """In the process: a context of the implementation; the process ends where there is none."""
    try:
        import pyopencl as cl
    except ImportError:
        _absent("PyOpenCL is not installed (pip install pyopencl)")
    try:
        platforms = [p for p in cl.get_platforms() if NAMES[name] in p.name]
    except cl.Error:
        platforms = []
    if not platforms:
        _absent(f"no OpenCL implementation named {NAMES[name]} is installed")
    return cl.Context(platforms[0].get_devices()[:1])


def answer(results: list[Any]) -> None:
    """In the process: what the cases came to."""
    sys.stdout.buffer.write(pickle.dumps(results))


def cases() -> list[Any]:
    """In the process: what was asked."""
    given: list[Any] = pickle.loads(sys.stdin.buffer.read())
    return given


def _absent(reason: str) -> NoReturn:
    print(reason, file=sys.stderr)
    sys.exit(_ABSENT)
