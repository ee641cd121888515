"""The preloaded library: the one in the package, or made from `shim.c` at first use."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from eumu.errors import ToolMissing, Unsupported
from eumu.keeping import is_ours, trusted_directory

__all__ = ["library"]

_SOURCE: Final = Path(__file__).with_name("shim.c")
_PREBUILT: Final = Path(__file__).with_name("libeumu_drm.so")
_FLAGS: Final = (
    *("-O1", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"),
    "-pthread",
)


def library(otherwise: Path) -> Path:
    """The path of the library, in a private directory where none is kept.

    ToolMissing without a C compiler, Unsupported if it fails.
    """
    if _PREBUILT.exists():
        return _PREBUILT
    digest = hashlib.sha256(_SOURCE.read_bytes() + " ".join(_FLAGS).encode()).hexdigest()
    path = (trusted_directory() or otherwise) / f"eumu_drm-{digest[:16]}.so"
    try:
        is_there = is_ours(path.stat())
    except OSError:
        is_there = False
    if not is_there:
        _compile(path)
    return path


def _compile(path: Path) -> None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise ToolMissing(
            "eumu gpu compiles its preloaded library at first use and finds no C compiler;"
            " install gcc (apt-get install gcc libc6-dev)"
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=".so", dir=path.parent)
    os.close(handle)
    done = subprocess.run(
        [compiler, *_FLAGS, "-o", name, str(_SOURCE)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        Path(name).unlink(missing_ok=True)
        raise Unsupported(f"{compiler} cannot compile {_SOURCE.name}:\n{done.stderr.strip()}")
    os.replace(name, path)
