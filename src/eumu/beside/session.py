"""One run of a program: the broker beside it, and what came of it."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from types import FrameType
from typing import Any, Final

from eumu.beside.door import FAULTED, FOUND, LOST
from eumu.records import dataclass

_LEGACY_LAYOUT: Final = 0x0200000  # ADDR_COMPAT_LAYOUT of personality(2)
_LAST_WORDS_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """`status` of the program as a shell has it, how many submissions made a fault, how many
    places a checked run found, and how many files that the user asked for are not whole."""

    status: int
    faults: int
    findings: int = 0
    lost: int = 0


def run_beside(
    command: Sequence[str],
    variables: Mapping[str, str],
    door: str,
    path: str,
    options: Any,
    files: Sequence[int] = (),
) -> SessionOutcome:
    """Run a program whose engine processes come through the door of that module's name.

    They answer at the socket `path`, and have the open `files`; `options` are a dataclass of the
    door, with a `status`.
    """
    with _broker(door, path, options, files) as status:
        program = subprocess.Popen(command, env=variables)
        with _signals_to(program):
            code = program.wait()
    told = _told(status)
    faults, findings, lost = (told.count(what) for what in (FAULTED, FOUND, LOST))
    return SessionOutcome(code if code >= 0 else 128 - code, faults, findings, lost)


@contextmanager
def _broker(door: str, path: str, options: Any, files: Sequence[int]) -> Iterator[int]:
    """The process that starts engine processes; yields where they write what came of it.

    Its reading end is left to the caller, who closes it.
    """
    reads, writes = os.pipe()
    os.set_blocking(writes, False)  # nobody reads before the program has ended
    try:
        process = _started(door, path, replace(options, status=writes), (writes, *files))
    except BaseException:
        os.close(reads)
        raise
    finally:
        os.close(writes)
    try:
        yield reads
    except BaseException:
        os.close(reads)
        raise
    finally:
        process.terminate()  # engine processes end when their programs do
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _started(door: str, path: str, options: Any, files: Sequence[int]) -> subprocess.Popen[bytes]:
    """The broker, listening at the socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.set_inheritable(listener.fileno(), True)
        given = asdict(options) | {"listener": listener.fileno()}
        return subprocess.Popen(
            [sys.executable, "-m", "eumu.beside.broker", door, json.dumps(given)],
            stdin=subprocess.PIPE,
            pass_fds=(listener.fileno(), *files),
            preexec_fn=legacy_layout,
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
        )


def legacy_layout() -> None:
    """Mappings of the engine process go up from a third of the address space, away from those of
    programs, which go down from its top."""
    libc = ctypes.CDLL(None)
    libc.personality(libc.personality(0xFFFFFFFF) | _LEGACY_LAYOUT)


def _told(fd: int) -> bytes:
    """The bytes of engine processes, until all have ended or have had time enough."""
    told, end = b"", time.monotonic() + _LAST_WORDS_S
    while (left := end - time.monotonic()) > 0 and select.select([fd], [], [], left)[0]:
        data = os.read(fd, 4096)
        if not data:
            break
        told += data
    os.close(fd)
    return told


@contextmanager
def _signals_to(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """The program decides what Ctrl-C is, which it gets itself; other ends are passed on to it."""

    def passes(number: int, frame: FrameType | None) -> None:
        program.send_signal(number)

    old = {s: signal.signal(s, passes) for s in (signal.SIGTERM, signal.SIGHUP)}
    old[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
