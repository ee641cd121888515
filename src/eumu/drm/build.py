"""The preloaded library: the one in the package, or made from its sources at first use."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from eumu.drm.compile import FLAGS, PREBUILT, SOURCES, compile, compiler
from eumu.errors import ToolMissing, Unsupported
from eumu.keeping import is_ours, trusted_directory
from eumu.writing import work_folder, write_whole

__all__ = ["library"]


def library(otherwise: Path) -> Path:
    """The path of the library, in a private directory where none is kept.

    ToolMissing without a C compiler, Unsupported if it fails, BuildError where no files are taken.
    """
    if PREBUILT.exists():
        return PREBUILT
    files = [*SOURCES, SOURCES[0].with_suffix(".h")]
    texts = [*(path.read_bytes() for path in files), " ".join(FLAGS).encode()]
    digest = hashlib.sha256(b"\0".join(texts)).hexdigest()
    name = f"eumu_drm-{digest[:16]}.so"
    kept = trusted_directory()
    if kept is not None and _is_ours(kept / name):
        return kept / name
    with work_folder() as work:
        made = work / name
        _compile(made)
        for place in (kept, otherwise):
            if place is not None and _keep(made, place):
                return place / name
    raise Unsupported(f"the preloaded library cannot be written to {otherwise}")


def _is_ours(path: Path) -> bool:
    try:
        return is_ours(path.stat())
    except OSError:
        return False


def _keep(made: Path, place: Path) -> bool:
    """Copy the library into a folder; whether that can be done."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (place / made.name).unlink(missing_ok=True)  # others may have written it
        write_whole(place / made.name, made.read_bytes())
    except OSError:
        return False
    return _is_ours(place / made.name)


def _compile(target: Path) -> None:
    tool = compiler()
    if tool is None:
        raise ToolMissing(
            "eumu gpu compiles its preloaded library at first use and finds no C compiler;"
            " install gcc (apt-get install gcc libc6-dev)"
        )
    try:
        wrong = compile(tool, target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{tool} cannot be run: {error}") from None
    if wrong:
        raise Unsupported(f"{tool} cannot compile the preloaded library:\n{wrong}")
