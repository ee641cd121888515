"""The folder where compiled code is kept for later processes, and whether it may be used.

What lies there is run as machine code: a folder or file that others than its owner may write, or
that belongs to somebody else, is not used.
"""

from __future__ import annotations

import os
import stat
import warnings
from functools import cache
from pathlib import Path

from eumu.settings import CACHE, CACHE_DIR


def directory() -> Path | None:
    """Where compiled code is kept, or None if it is not."""
    if not CACHE.get():
        return None
    named = CACHE_DIR.get()
    if named is not None:
        return named
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "eumu"
    except RuntimeError:  # a user without a home
        return None


def trusted_directory() -> Path | None:
    """The same, or None if it may not be used."""
    place = directory()
    return place if place is not None and is_trusted(place) else None


def is_ours(status: os.stat_result) -> bool:
    """Whether nobody else can have written what has this status; the superuser may."""
    if not hasattr(os, "geteuid"):
        return True
    others = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & others


def is_trusted(place: Path) -> bool:
    """Whether a directory may be used; one that is not there yet will be."""
    try:
        status = place.stat()
    except OSError:
        return True
    if not is_ours(status):
        warn_of(place)
    return is_ours(status)


@cache
def warn_of(place: Path) -> None:
    """Say once that a directory is not used."""
    warnings.warn(
        f"compiled kernels are not kept: others may write to {place}"
        f" (chmod 700, or another folder in {CACHE_DIR.name})",
        RuntimeWarning,
        stacklevel=2,
    )
