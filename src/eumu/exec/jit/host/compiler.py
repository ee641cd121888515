"""LLVM text to machine code, in other processes, so that LLVM cannot end this one.

What exceeds ``EUMU_COMPILE_SECONDS`` of processor time or ``EUMU_COMPILE_MB`` of memory
(`eumu.settings`) is `Unsupported`, so that the interpreter runs the kernel.

A module of less than ``LONG`` lines takes about a second, in a process that is kept.  If it takes
more than ``_SHORT_S``, or ends the process, it is treated as a long one.  What LLVM's passes take
grows faster than the module, in ways that its length does not tell.  So a long module may take
``_CAREFUL`` seconds; if it takes more, or has ``_VERY_LONG`` lines, it is made into slower code, in
a time that grows with its length, as all code is that is made in a hurry.  Where nobody waits, as
slower code runs already, it may take all the time that there is, up to ``_LONGEST`` lines.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from functools import partial
from typing import Final

from eumu.errors import Unsupported
from eumu.exec.jit.host.apart import apart
from eumu.exec.jit.host.compiler_process import CompilerProcess, Exceeded
from eumu.exec.jit.host.target import Effort, Processor, compile_object
from eumu.settings import COMPILE_MB, COMPILE_SECONDS

LONG: Final = 25_000  # lines
_VERY_LONG: Final = 60_000
_LONGEST: Final = 150_000
_SHORT_S: Final = 10
_CAREFUL: Final = 3
_MOST_IDLE: Final = 2
_IDLE: Final[list[CompilerProcess]] = []  # those that are kept; one step puts one in or takes one


def expect() -> None:
    """Start a process now, which is ready when there is a text to compile."""
    if not _IDLE:
        with contextlib.suppress(OSError):  # compile_text does without
            _keep(CompilerProcess())


def compile_text(text: str, processor: Processor) -> bytes:
    """Machine code of a module; Unsupported if that takes more than the limits.

    KeyboardInterrupt ends it at once.
    """
    try:
        if text.count("\n") < LONG:
            with contextlib.suppress(Exceeded):
                return _kept_makes(text, processor)
        return _long(text, processor)
    except OSError:  # no process can be started
        return apart(partial(compile_object, text, processor))


def _kept_makes(text: str, processor: Processor) -> bytes:
    """Code made by a process that is kept, or Exceeded."""
    process = _kept()
    seconds = min(_SHORT_S, COMPILE_SECONDS.get())
    try:
        return process.make(text, processor, Effort.FULL, seconds, COMPILE_MB.get())
    finally:
        _keep(process)


def _kept() -> CompilerProcess:
    """One that nobody else asks meanwhile."""
    while _IDLE:
        with contextlib.suppress(IndexError):  # another thread took it
            process = _IDLE.pop()
            if process.is_usable:
                return process
            process.end()
    return CompilerProcess()


def _keep(process: CompilerProcess) -> None:
    """Let others ask it, or end it."""
    if len(_IDLE) < _MOST_IDLE and process.is_usable:
        _IDLE.append(process)
    else:
        process.end()


@atexit.register
def _end() -> None:
    while _IDLE:
        _IDLE.pop().end()


def _forget() -> None:
    while _IDLE:
        _IDLE.pop().forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _long(text: str, processor: Processor) -> bytes:
    """Code made by a process of its own; Unsupported if it takes more than the limits."""
    lines, seconds = text.count("\n"), COMPILE_SECONDS.get()
    patient = processor.is_patient
    if lines < (_LONGEST if patient else _VERY_LONG) and not processor.is_hasty:
        with contextlib.suppress(Exceeded):
            careful = seconds if patient else min(_CAREFUL, seconds)
            return _attempt(text, processor, careful, Effort.LONG)
    try:
        return _attempt(text, processor, seconds, Effort.QUICK)
    except Exceeded as error:
        if error.by_itself:  # LLVM gives up some modules in the quick way only
            with contextlib.suppress(Exceeded):
                return _attempt(text, processor.careful(), seconds, Effort.LONG)
        raise _unsupported(lines, seconds, error) from None


def _attempt(text: str, processor: Processor, seconds: int, effort: Effort) -> bytes:
    """Code made by a process of its own, or Exceeded."""
    process = CompilerProcess(is_long=True)
    try:
        return process.make(text, processor, effort, seconds, COMPILE_MB.get())
    finally:
        process.end()


def _unsupported(lines: int, seconds: int, error: Exceeded) -> Unsupported:
    said, megabytes = str(error), f"{COMPILE_MB.get()} MB"
    last = f"; it ended with {said.splitlines()[-1][:200]!r}" if said else ""
    if error.by_itself:
        cause = f"LLVM ends its process over {lines} lines, for which it has {megabytes}"
        return Unsupported(f"compiling it: {cause} ({COMPILE_MB.name} sets the limit){last}")
    return Unsupported(
        f"compiling it: {lines} lines of LLVM take more than {seconds} s or {megabytes}"
        f" ({COMPILE_SECONDS.name} and {COMPILE_MB.name} set the limits){last}"
    )
