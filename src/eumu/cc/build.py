"""The libraries in C: those in the package, or made from their sources at first use."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from eumu.cache_folder import is_ours, trusted_directory
from eumu.cc.compile import Library, compile, compiler
from eumu.errors import ToolMissing, Unsupported
from eumu.writing import work_folder, write_whole


def library(which: Library, otherwise: Path) -> Path:
    """The path of a library, in a private directory where none is kept.

    ToolMissing without a C compiler, Unsupported if it fails, BuildError where no files are taken.
    """
    if which.prebuilt.exists():
        return which.prebuilt
    name = f"eumu_{which.name}-{_digest(which)[:16]}.so"
    kept = trusted_directory()
    if kept is not None and _is_ours(kept / name):
        return kept / name
    with work_folder() as work:
        made = work / name
        _compile(which, made)
        for place in (kept, otherwise):
            if place is not None and _keep(made, place):
                return place / name
    raise Unsupported(f"the library {name} cannot be written to {otherwise}")


def _digest(which: Library) -> str:
    digest = hashlib.sha256(" ".join(which.flags).encode())
    for path in (*which.sources, *which.headers):
        digest.update(path.read_bytes())
    return digest.hexdigest()


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


def _compile(which: Library, target: Path) -> None:
    tool = compiler()
    if tool is None:
        raise ToolMissing(
            f"{which.purpose} at first use and finds no C compiler;"
            " install gcc (apt-get install gcc libc6-dev)"
        )
    try:
        wrong = compile(tool, which, target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{tool} cannot be run: {error}") from None
    if wrong:
        raise Unsupported(f"{tool} cannot compile the library of eumu/{which.room}:\n{wrong}")
