"""Long modules are compiled in a process of their own, which has limits and can be ended.

LLVM's passes do not look at a clock, run without Python's lock and end the process where memory
runs out.  What exceeds ``EUMU_COMPILE_SECONDS`` of processor time or ``EUMU_COMPILE_MB`` of memory
(`eumu.settings`) is `Unsupported`, so that the interpreter runs the kernel.  A module of less than
``LONG`` lines takes about a second and is compiled here.

What LLVM's passes take grows faster than the module, in ways that its length does not tell.  So a
long module may take ``_CAREFUL`` seconds; if it takes more, or has ``_VERY_LONG`` lines, it is made
into slower code, in a time that grows with its length, as all code is that is made in a hurry.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from functools import partial
from typing import Final

import llvmlite.binding as llvm

from eumu.errors import InternalError, Unsupported
from eumu.exec.jit.host.apart import apart
from eumu.exec.jit.host.target import Effort, Processor, compile_object
from eumu.settings import COMPILE_MB, COMPILE_SECONDS

LONG: Final = 25_000  # lines
_VERY_LONG: Final = 60_000
_CAREFUL: Final = 3
_PATIENCE: Final = 10  # seconds of waiting for one of processor time, on a busy machine
_REFUSED: Final = 3  # exit status: LLVM said what is wrong
# Options of the whole process; shorter modules get slightly better code without.
_OPTIONS: Final = (
    # Edges that the register allocator looks at for each value that it splits.  With LLVM's 10000
    # its time grows as the square of the number of branches.
    "-grow-region-complexity-budget=200",
    # Constants stay where they are used.  In front of a loop of thousands of instructions they take
    # more registers than there are, and spilling them grows as the square of their number.
    "-disable-machine-licm",
)
_PROGRAM: Final = f"import sys; from {__name__} import main; sys.exit(main())"


def compile_text(text: str, processor: Processor) -> bytes:
    """Machine code of a module; Unsupported if that takes more than the limits.

    KeyboardInterrupt ends it at once.
    """
    if text.count("\n") >= LONG and sys.executable:
        with contextlib.suppress(OSError):  # no process can be started
            return _in_a_process(text, processor)
    return apart(partial(compile_object, text, processor))


def _in_a_process(text: str, processor: Processor) -> bytes:
    """The same; the process is killed by whatever is raised here meanwhile."""
    lines, seconds = text.count("\n"), COMPILE_SECONDS.get()
    if lines < _VERY_LONG and not processor.is_hasty:
        with contextlib.suppress(_Exceeded):
            return _attempt(text, processor, min(_CAREFUL, seconds), Effort.LONG)
    try:
        return _attempt(text, processor, seconds, Effort.QUICK)
    except _Exceeded as error:
        if error.by_itself:  # LLVM gives up some modules in the quick way only
            with contextlib.suppress(_Exceeded):
                return _attempt(text, processor, seconds, Effort.LONG)
        raise _unsupported(lines, seconds, str(error)) from None


class _Exceeded(Exception):
    """A process reached a limit, or LLVM ended it `by_itself`; what it said last."""

    def __init__(self, said: str, *, by_itself: bool = False) -> None:
        super().__init__(said)
        self.by_itself = by_itself


def _attempt(text: str, processor: Processor, seconds: int, effort: Effort) -> bytes:
    """Code made in a process, or _Exceeded."""
    request = json.dumps([asdict(processor), seconds, COMPILE_MB.get(), effort.value]) + "\n" + text
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    try:
        status, code, said = _run(request.encode(), paths, seconds * _PATIENCE)
    except subprocess.TimeoutExpired:
        raise _Exceeded("") from None
    if status == _REFUSED:
        raise InternalError(said)
    if status:
        raise _Exceeded(said, by_itself=status == -signal.SIGABRT)
    return code


def _run(request: bytes, paths: str, seconds: int) -> tuple[int, bytes, str]:
    """The exit status of the process, what it made, and what it said."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,  # Ctrl-C at a terminal is for this process
    ) as process:
        try:
            code, said = process.communicate(request, seconds)
        except BaseException:
            process.kill()
            process.wait()
            raise
    return process.returncode, code, said.decode(errors="replace").strip()


def _unsupported(lines: int, seconds: int, said: str) -> Unsupported:
    last = f"; it ended with {said.splitlines()[-1][:200]!r}" if said else ""
    return Unsupported(
        f"compiling it: {lines} lines of LLVM take more than {seconds} s or {COMPILE_MB.get()} MB"
        f" ({COMPILE_SECONDS.name} and {COMPILE_MB.name} set the limits){last}"
    )


def _end_unread(output: int) -> None:
    """End this process when nobody reads a pipe any more: a killed caller cannot end it."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(output, 0)  # an error alone: the other end is closed
        poll.poll()
        os._exit(1)


def main() -> int:
    """Compile what comes in; for the process that `compile_text` starts."""
    threading.Thread(target=_end_unread, args=(sys.stdout.fileno(),), daemon=True).start()
    first, text = sys.stdin.buffer.readline(), sys.stdin.buffer.read()
    processor, seconds, megabytes, effort = json.loads(first)
    _bound(seconds, megabytes)
    for option in _OPTIONS:
        llvm.set_option("eumu", option)
    try:
        made = Processor(**processor), Effort(effort)
        code = apart(partial(compile_object, text.decode(), *made))
    except InternalError as error:
        print(error, file=sys.stderr)
        return _REFUSED
    sys.stdout.buffer.write(code)
    return 0


def _bound(seconds: int, megabytes: int) -> None:
    """Limit this process, where the system can; elsewhere the caller's patience is the limit."""
    try:
        import resource
    except ImportError:
        return
    wanted = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: megabytes << 20,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (bound, bound))
