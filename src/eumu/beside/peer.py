"""The program at the other end of a socket; quick to import, as it waits for the answer."""

from __future__ import annotations

import fcntl
import socket
import struct
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


def process_of(peer: socket.socket) -> int:
    """The number of the program's process, as the system knows it."""
    data = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(data)[0]
    return pid
