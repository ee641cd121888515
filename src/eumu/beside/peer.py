"""The program at the other end of a socket; quick to import, as it waits for the answer."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Iterable
from typing import Final

from eumu.beside.door import ProtocolError

_CREDENTIALS: Final = struct.Struct("3i")


def need_seal(fd: int, what: str) -> None:
    """ProtocolError for a file that its other owner could make shorter: an access behind its end
    would end this process by a signal.
    """
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    if not seals & fcntl.F_SEAL_SHRINK:
        raise ProtocolError(f"{what} is not sealed against shrinking")


def received(peer: socket.socket, size: int, count: int) -> tuple[bytes, list[int]]:
    """A greeting of so many bytes with so many files.

    ProtocolError if it is another one; its files are closed then.
    """
    data, fds, _, _ = socket.recv_fds(peer, size, count)
    if len(data) != size or len(fds) != count:
        close_files(fds)
        raise ProtocolError("no greeting came")
    return data, fds


def close_files(fds: Iterable[int]) -> None:
    """Let go of files that a program gave."""
    for fd in fds:
        os.close(fd)


def process_of(peer: socket.socket) -> int:
    """The number of the program's process, as the system knows it; 0 if it is not seen from here,
    as one of another container.
    """
    data = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(data)[0]
    return pid


def abort(process: int) -> None:
    """End a program at its fault, if it is seen from here and still there."""
    if process:
        with contextlib.suppress(OSError):  # it is gone, or another user's
            os.kill(process, signal.SIGABRT)
