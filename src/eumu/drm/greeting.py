"""How a program and its engine process meet; quick to import, as a program waits for the answer."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from dataclasses import dataclass
from typing import Final

from eumu.drm.options import Options
from eumu.drm.parts import gpu
from eumu.drm.protocol import CONTROL_BYTES, ProtocolError, greeting, welcome

__all__ = ["Program", "meet"]

_GET_SEALS, _SHRINK = 1034, 2
_PEER: Final = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was greeted: its socket, and the files that it shares.

    `pid` is the number of its process.
    """

    peer: socket.socket
    memory_fd: int
    control_fd: int
    pid: int

    def close(self) -> None:
        """Let socket and files go, in this process."""
        self.peer.close()
        os.close(self.memory_fd)
        os.close(self.control_fd)


def meet(peer: socket.socket, options: Options) -> Program:
    """Answer a greeting that has come.  ProtocolError if it is none."""
    part = gpu(options.gpu)
    memory_fd, control_fd = greeting(peer)
    try:
        _check_files(memory_fd, control_fd)
    except ProtocolError:
        os.close(memory_fd)
        os.close(control_fd)
        raise
    pid, _, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    peer.sendall(welcome(part, options.memory_bytes))
    return Program(peer, memory_fd, control_fd, pid)


def _check_files(memory_fd: int, control_fd: int) -> None:
    for fd in (memory_fd, control_fd):
        _need_seal(fd)
    if os.fstat(control_fd).st_size < CONTROL_BYTES:
        raise ProtocolError("the page of counters is too short")


def _need_seal(fd: int) -> None:
    """A file that its other owner could make shorter would end this process by a signal."""
    try:
        seals = fcntl.fcntl(fd, _GET_SEALS)
    except OSError:
        seals = 0
    if not seals & _SHRINK:
        raise ProtocolError("the files of the greeting are not sealed against shrinking")
