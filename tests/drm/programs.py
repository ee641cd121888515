"""Programs in C that run on the virtual GPU: compiling them, and `eumu gpu` as a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TIMEOUT_S = 300


def compiled(source: Path, to: Path, *libraries: str) -> Path:
    """A C program; skips where there is no compiler or no header of a library.

    Libraries are taken as programs find them, so what Debian has for development is not needed.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (Debian: apt-get install gcc libc6-dev)")
    program = to / source.stem
    command = [compiler, "-O1", "-o", str(program), str(source), "-lpthread"]
    done = subprocess.run(
        [*command, *(f"-l:lib{name}.so.1" for name in libraries)], capture_output=True, text=True
    )
    if done.returncode and libraries:
        pytest.skip(f"{source.name} cannot be compiled with {', '.join(libraries)}: {done.stderr}")
    assert not done.returncode, done.stderr
    return program


def command(*words: object, options: Sequence[str] = ()) -> list[str]:
    """The command line of a program on the virtual GPU."""
    return [sys.executable, "-m", "eumu", "gpu", *options, "--", *map(str, words)]


def run(
    *words: object, options: Sequence[str] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a program on the virtual GPU."""
    return subprocess.run(
        command(*words, options=options),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=os.environ | more,
    )
