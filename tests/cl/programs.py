"""Programs on eumu's OpenCL driver, as processes."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from eumu.cl.folder import folder
from eumu.errors import EumuError

TIMEOUT_S = 300
SOURCES = Path(__file__).parents[1]


@cache
def vendors() -> str:
    """The folder for the loader; skips where there is no compiler for the driver."""
    try:
        return str(folder())
    except EumuError as error:
        pytest.skip(str(error))


def environment(**more: str) -> dict[str, str]:
    """The variables of a program on the driver."""
    return os.environ | {"OCL_ICD_VENDORS": vendors()} | more


def engines(mark: str) -> list[int]:
    """Engine processes that have a variable in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            if b"eumu.cl.alone" in words and mark.encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:  # it is gone
            continue
    return found


def run(*words: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program on the driver."""
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=environment(**more),
    )
