"""Makes the libraries of their C sources.

Imports nothing of the package: building a wheel runs it, too, before anything is installed.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_PACKAGE: Final = Path(__file__).parents[1]
_SECONDS: Final = 120.0


class Library(NamedTuple):
    """A library: the room that it belongs to, what it is for, and its sources."""

    room: str
    purpose: str
    sources: tuple[Path, ...]
    headers: tuple[Path, ...]
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        """What files are called after it."""
        return self.room.replace("/", "_")

    @property
    def prebuilt(self) -> Path:
        """Where a wheel has it; one for all machines has that of the machine that made it."""
        name = f"libeumu_{self.name}-{platform.system()}-{platform.machine()}.so"
        return _PACKAGE / self.room / name


# What all of them use.
_SHARED: Final = tuple(_PACKAGE / "cc" / name for name in ("layer.h", "peer.h"))
_FLAGS: Final = (
    *("-O1", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"),
    "-pthread",
)
DRM: Final = Library(
    "drm",
    "eumu gpu compiles its preloaded library",
    tuple(_PACKAGE / "drm" / name for name in ("shim.c", "layer.c", "window.c", "paths.c")),
    (_PACKAGE / "drm" / "shim.h", *_SHARED),
    _FLAGS,
)
_DRIVER: Final = _PACKAGE / "cl" / "shim"
CL: Final = Library(
    "cl",
    "eumu compiles its OpenCL driver",
    tuple(sorted(_DRIVER.glob("*.c"))),
    (*sorted(_DRIVER.glob("*.h")), *_SHARED),
    # The loader's functions have the names of the driver's.
    (*_FLAGS, "-Wno-cast-function-type", "-Wno-missing-field-initializers", "-Wl,-Bsymbolic"),
)
_CAPTURE: Final = _PACKAGE / "cl" / "capture"
CAPTURE: Final = Library(
    "cl/capture",
    "eumu compare compiles its layer below the OpenCL loader",
    (_CAPTURE / "capture.c",),
    _SHARED,
    _FLAGS,
)
LIBRARIES: Final = (DRM, CL, CAPTURE)


def compiler() -> str | None:
    """The path of a C compiler, if there is one."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def compile(tool: str, which: Library, target: Path) -> str:
    """Write a library; what the compiler says where it fails, else nothing.

    OSError and TimeoutExpired if it cannot be run.
    """
    sources = map(str, which.sources)
    done = subprocess.run(
        [tool, *which.flags, "-o", str(target), *sources, "-ldl"],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=_SECONDS,
    )
    return done.stderr.strip() or "no reason given" if done.returncode else ""
