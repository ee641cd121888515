"""What a door tells the broker; the module of a door is an object of this kind."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from typing import Any, Protocol

from eumu.errors import EumuError

# What goes to the `status` of a session's options, a byte for each.
FAULTED = b"F"
FOUND = b"U"
LOST = b"L"  # a file that the user asked for is not whole


def note(status: int | None, what: bytes) -> None:
    """Tell the session of a fault or finding.

    It reads when the program has ended: what its pipe has no room for, 65536 of them, is not told.
    """
    if status is not None:
        with contextlib.suppress(OSError):
            os.write(status, what)


def say(text: str) -> None:
    """Tell people on standard error, if anybody reads."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def lose(status: int | None, text: str) -> None:
    """Tell people, and the session, that a file which they asked for is not whole."""
    say(f"eumu: {text}")
    note(status, LOST)


def explained(error: BaseException) -> tuple[str, bool]:
    """What people are told of an error, and whether it is no mistake of eumu's.

    The system may refuse memory, files and threads at any place.
    """
    if isinstance(error, EumuError):
        return str(error), True
    if isinstance(error, (MemoryError, OSError)):
        return f"the system refuses the engine process something: {str(error) or 'memory'}", True
    return f"internal error: {type(error).__name__}: {error}", False


class ProtocolError(EumuError, ValueError):
    """The other process does not keep to the protocol."""


class ProgramOptions(Protocol):
    """How programs are run; `status` is where a byte goes for each fault and each finding."""

    @property
    def status(self) -> int | None: ...

    @property
    def engine(self) -> str | None: ...


class HostProgram(Protocol):
    """A program that was greeted; `pid` is the number of its process."""

    @property
    def pid(self) -> int: ...

    def close(self) -> None: ...


class Door(Protocol):
    """`needed` are the modules that the first kernel needs, in the order of their import.

    `hangs` says that a program may wait for ever for an engine process that has died.
    """

    needed: tuple[str, ...]
    hangs: bool

    def options(self, **given: Any) -> ProgramOptions: ...

    def meet(self, peer: socket.socket, options: Any) -> HostProgram: ...

    def serve(self, program: Any, options: Any) -> None: ...
