"""Intel's finalizer as a witness: native code of vISA, made by `GenX_IR`.

It is the part of Intel's compiler that turns vISA into Gen9's instructions, as a tool of its own
(Debian's package `libigc-tools`).  What a program does natively it must do as vISA.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Final

from eumu import native, processes
from eumu.errors import BuildError, ToolMissing
from eumu.native import Program
from eumu.platforms import Platform, platform
from eumu.records import dataclass
from eumu.writing import work_folder

INSTALL: Final = "sudo apt install libigc-tools"
# Our name of a platform, and the finalizer's.
_NAMES: Final = {"skl": "SKL", "bxt": "BXT"}
# Lines that the finalizer prints about itself, not about the program.
_CHATTER: Final = re.compile(r"BitSet\.h|^\s*$|^GenX_IR |-platform ")
_SPILLS: Final = "Spill memory used"  # its exit status says so, too; there is code all the same
_MESSAGE_LINES: Final = 6
ENDLESS: Final = "no end after"
UNREADABLE: Final = "its code has words that are no instructions"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the finalizer made no code of a program that could run: its message, or how it died."""

    message: str
    died: bool = False


def find() -> str:
    """The path of GenX_IR; ToolMissing says how to install it."""
    path = shutil.which("GenX_IR")
    if path is None:
        raise ToolMissing(
            "GenX_IR, Intel's vISA finalizer, is not installed; it is needed to make native code of"
            f" vISA text\n  install it with: {INSTALL}"
        )
    return path


def finalize(
    program: str | bytes,
    device: str | Platform = "skl",
    options: Sequence[str] = (),
    *,
    timeout: float = 60.0,
) -> Program:
    """The native code of the one kernel of a text or an object file.

    `options` are the finalizer's, such as `-noschedule`; `timeout` is in seconds.  Raises
    `BuildError` with its message where it refuses the program, and `ToolMissing`.
    """
    outcome = _Job(find(), platform(device), tuple(options), timeout).run(program)
    if isinstance(outcome, Refusal):
        raise BuildError(f"the finalizer refuses the program: {outcome.message}")
    return outcome


def finalize_each(
    programs: Iterable[str | bytes],
    device: str | Platform = "skl",
    options: Sequence[str] = (),
    *,
    jobs: int | None = None,
    timeout: float = 60.0,
    seconds: float | None = None,
) -> Iterator[Program | Refusal]:
    """The same for many, in their order, `jobs` processes at once; refusals are results.

    `seconds` of processor time are the most that one may take.
    """
    job = _Job(find(), platform(device), tuple(options), timeout, seconds)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        yield from pool.map(job.run, programs)


@dataclass(frozen=True, slots=True)
class _Job:
    tool: str
    target: Platform
    options: tuple[str, ...]
    timeout: float
    seconds: float | None = None
    command: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        if self.target.name not in _NAMES:
            raise BuildError(
                f"no native code for {self.target}: eumu runs that of {' and '.join(_NAMES)}"
            )
        name = _NAMES[self.target.name]
        words = ("-platform", name, "-binary", *self.options)
        object.__setattr__(self, "command", words)

    def run(self, program: str | bytes) -> Program | Refusal:
        data = program.encode() if isinstance(program, str) else program
        name = "k.visaasm" if isinstance(program, str) else "k.isa"
        with work_folder() as folder:
            (folder / name).write_bytes(data)
            command = (self.tool, name, *self.command)
            try:
                done = processes.run(
                    command,
                    cwd=folder,
                    capture_output=True,
                    timeout=self.timeout,
                    seconds=self.seconds,
                )
            except subprocess.TimeoutExpired:
                return Refusal(f"{ENDLESS} {self.timeout:g} s", died=True)
            if done.returncode == -signal.SIGXCPU:
                return Refusal(f"{ENDLESS} {self.seconds or self.timeout:g} s", died=True)
            said = (done.stdout + done.stderr).decode("utf-8", "replace")
            made = sorted(folder.glob("*.dat"))
            spilled = done.returncode == 1 and _SPILLS in said
            if (done.returncode and not spilled) or len(made) != 1:
                return _refusal(done.returncode, said, len(made))
            try:
                return native.decode(made[0].read_bytes(), self.target, "k")
            except BuildError as error:
                return Refusal(f"{UNREADABLE}: {error}")


def _refusal(status: int, said: str, made: int) -> Refusal:
    lines = [line.strip() for line in said.splitlines() if not _CHATTER.search(line)]
    message = "; ".join(lines[:_MESSAGE_LINES])
    if status < 0:
        return Refusal(f"it ended by signal {-status}; {message}".rstrip("; "), died=True)
    if not message:
        message = f"exit status {status}, {made} files of code"
    return Refusal(message)
