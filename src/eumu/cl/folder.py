"""The folder that the OpenCL loader is given: an entry, the driver's library, and how its engine
process is started."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Final

from eumu.cache_folder import is_ours, trusted_directory
from eumu.cc.build import library
from eumu.cc.compile import CL
from eumu.errors import Unsupported
from eumu.settings import CACHE_DIR
from eumu.writing import write_whole

_LIBRARY: Final = "libeumu_cl.so"


def command() -> str:
    """What starts an engine process, a word a line.

    Variables for the program's own Python, and its folder, are nothing to it.
    """
    return "\n".join((sys.executable, "-E", "-P", "-m", "eumu.cl.alone")) + "\n"


def folder() -> Path:
    """The folder for people who start programs themselves, in the cache directory.

    Unsupported where nothing may be kept, or by a name that cannot be said.
    """
    kept = trusted_directory()
    if kept is None:
        raise Unsupported(
            f"the OpenCL driver needs a folder that stays; {CACHE_DIR.name} names one, and"
            " EUMU_CACHE=off forbids it"
        )
    if not _is_text(kept):
        raise Unsupported(f"the OpenCL loader reads names in UTF-8, which {str(kept)!a} is not")
    made = library(CL, kept).read_bytes()
    digest = hashlib.sha256(made + command().encode()).hexdigest()
    place = kept / f"icd-{digest[:16]}"
    if not all(_is_whole(place / name) for name in ("eumu.icd", _LIBRARY, "engine")):
        fill(place, made)
    return place


def _is_text(path: Path) -> bool:
    try:
        return bool(str(path).encode())
    except UnicodeEncodeError:
        return False


def _is_whole(path: Path) -> bool:
    try:
        return is_ours(path.stat())
    except OSError:
        return False


def fill(place: Path, made: bytes) -> None:
    """Write such a folder; OSError where that cannot be done."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    (place / "engine").write_bytes(os.fsencode(command()))
    write_whole(place / _LIBRARY, made)
    (place / "eumu.icd").write_bytes(os.fsencode(place / _LIBRARY) + b"\n")
