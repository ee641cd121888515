"""A process that compiles: what LLVM does to it does not reach the one that asks.

LLVM's passes do not look at a clock, and end their process where memory runs out and where they
meet what their authors held to be impossible.  So they run in one that has limits and can be ended.
It answers one request after the other, and ends with whoever asks, or when nobody has asked for a
minute.

A request is a line of JSON (processor, effort, seconds, megabytes, bytes of text) and the text; an
answer is the word "made" or "refused" and a number of bytes in one line, and these bytes.
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
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm

from eumu.errors import InternalError
from eumu.exec.jit.host.apart import apart
from eumu.exec.jit.host.target import Effort, Processor, compile_object

_PATIENCE: Final = 10  # seconds of waiting for one of processor time, on a busy machine
_MOST_TEXTS: Final = 256  # LLVM keeps types and constants of all modules that it has seen
_IDLE_S: Final = 60
_READY: Final = b"ready\n"
_MADE: Final = b"made"
_REFUSED: Final = b"refused"  # LLVM said what is wrong
# Options of the whole process for long modules; shorter ones get slightly better code without.
_OPTIONS: Final = (
    # Edges that the register allocator looks at for each value that it splits.  With LLVM's 10000
    # its time grows as the square of the number of branches.
    "-grow-region-complexity-budget=200",
    # Constants stay where they are used.  In front of a loop of thousands of instructions they take
    # more registers than there are, and spilling them grows as the square of their number.
    "-disable-machine-licm",
)
_LONG: Final = "long"
_PROGRAM: Final = f"import sys; from {__name__} import main; main(sys.argv[1:])"
# What ends a process from inside; a limit or a killer ends it by others.
_OWN_SIGNALS: Final = {
    -int(getattr(signal, name))
    for name in ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGTRAP")
    if hasattr(signal, name)
}


class Exceeded(Exception):
    """A process reached a limit, or LLVM ended it `by_itself`; what it said last."""

    def __init__(self, said: str, *, by_itself: bool = False) -> None:
        super().__init__(said)
        self.by_itself = by_itself


class CompilerProcess:
    """One such process, for long modules or for others; OSError if none can be started.

    One thread asks at a time.  Whatever is raised while it waits ends the process.
    """

    def __init__(self, *, is_long: bool = False) -> None:
        if "python" not in Path(sys.executable or "").name.lower():
            raise OSError(f"{sys.executable!r} is no Python interpreter")
        paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, *([_LONG] if is_long else [])],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C at a terminal is for this process
        )
        self._is_ready = self._is_late = False
        self._texts = 0

    @property
    def is_usable(self) -> bool:
        """Whether it runs, and has not had so many texts that another one should take over."""
        return self._texts < _MOST_TEXTS and self._process.poll() is None

    def make(
        self, text: str, processor: Processor, effort: Effort, seconds: int, megabytes: int
    ) -> bytes:
        """Code of a module; Exceeded if that ends the process, OSError if it has not begun."""
        self._texts += 1
        body = text.encode()
        facts = [asdict(processor), effort.value, seconds, megabytes, len(body)]
        watch = threading.Timer(seconds * _PATIENCE, self._expire)
        watch.daemon = True
        try:
            with contextlib.suppress(RuntimeError):  # the system has no thread
                watch.start()
            word, answer = self._asked(json.dumps(facts).encode() + b"\n" + body)
        except EOFError:
            raise self._ended() from None
        except BaseException:
            self.end()
            raise
        finally:
            watch.cancel()
        if word == _REFUSED:
            raise InternalError(answer.decode(errors="replace"))
        return answer

    def _asked(self, request: bytes) -> tuple[bytes, bytes]:
        """The answer to a request; EOFError if the process ends instead."""
        pipe, left = self._process.stdin, memoryview(request)
        assert pipe is not None
        try:
            while left:
                left = left[pipe.write(left) :]
        except BrokenPipeError:
            raise EOFError from None
        if not self._is_ready:
            self._is_ready = self._line() == _READY
        word, size = self._line().split()
        return word, self._read(int(size))

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return line

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        parts: list[bytes] = []
        while size:
            part = self._process.stdout.read(size)
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _expire(self) -> None:
        self._is_late = True
        self._process.kill()

    def _ended(self) -> Exception:
        """Why it ended; by itself, with status 0, when nobody had asked for long."""
        assert self._process.stderr is not None
        self._process.kill()
        status = self._process.wait()
        said = self._process.stderr.read().decode(errors="replace").strip()
        self.end()
        if not self._is_late and (status == 0 or not self._is_ready):
            return OSError(f"no process compiles: {said}")
        return Exceeded(said, by_itself=status in _OWN_SIGNALS)

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._close()

    def forget(self) -> None:
        """In a child of a fork, where it is another process's."""
        self._process.returncode = 0
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


def main(arguments: list[str]) -> None:
    """Compile what comes in, until nothing comes any more."""
    threading.Thread(target=_end_unread, args=(sys.stdout.fileno(),), daemon=True).start()
    if arguments == [_LONG]:
        for option in _OPTIONS:
            llvm.set_option("eumu", option)
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(_READY)
    answers.flush()
    while _is_asked(given.fileno()) and (line := given.readline()):
        processor, effort, seconds, megabytes, size = json.loads(line)
        text = given.read(size).decode()
        _bound(seconds, megabytes)
        try:
            answer = (
                _MADE,
                apart(partial(compile_object, text, Processor(**processor), Effort(effort))),
            )
        except InternalError as error:
            answer = _REFUSED, str(error).encode()
        answers.write(b"%s %d\n%s" % (answer[0], len(answer[1]), answer[1]))
        answers.flush()


def _is_asked(given: int) -> bool:
    """Whether something comes in within a minute; the end of what comes is something, too."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(given, select.POLLIN)
    return bool(poll.poll(_IDLE_S * 1000))


def _end_unread(output: int) -> None:
    """End this process when nobody reads a pipe any more: a killed caller cannot end it."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(output, 0)  # an error alone: the other end is closed
        poll.poll()
        os._exit(1)


def _bound(seconds: int, megabytes: int) -> None:
    """Limit what is made next, where the system can; elsewhere the caller's patience is the limit.

    The system ends a process whose timer of processor time runs out.
    """
    if hasattr(signal, "ITIMER_PROF"):
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001))
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_AS, megabytes << 20), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (bound, hard))
