"""Makes the preloaded library of its C sources.

Imports nothing of the package: building a wheel runs it, too, before anything is installed.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final

__all__ = ["FLAGS", "PREBUILT", "SOURCES", "compile", "compiler"]

_HERE: Final = Path(__file__).parent
SOURCES: Final = (_HERE / "shim.c", _HERE / "layer.c")
# A wheel for all machines has the library of the machine that made it.
PREBUILT: Final = _HERE / f"libeumu_drm-{platform.system()}-{platform.machine()}.so"
FLAGS: Final = (
    *("-O1", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"),
    "-pthread",
)
_SECONDS: Final = 120.0


def compiler() -> str | None:
    """The path of a C compiler, if there is one."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def compile(tool: str, target: Path) -> str:
    """Write the library; what the compiler says where it fails, else nothing.

    OSError and TimeoutExpired if it cannot be run.
    """
    done = subprocess.run(
        [tool, *FLAGS, "-o", str(target), *map(str, SOURCES)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    return done.stderr.strip() or "no reason given" if done.returncode else ""
