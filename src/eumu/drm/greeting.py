"""How a program and its engine process meet; quick to import, as a program waits for the answer."""

from __future__ import annotations

import os
import socket

from eumu.beside.door import ProtocolError
from eumu.beside.peer import close_files, need_seal, process_of
from eumu.drm.options import DrmOptions
from eumu.drm.parts import gpu
from eumu.drm.protocol import CONTROL_BYTES, greeting, welcome
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class DrmProgram:
    """A program that was greeted: its socket, and the files that it shares.

    `pid` is the number of its process.  `is_low`: its driver is Mesa's for Vulkan, which chooses
    addresses of its own.
    """

    peer: socket.socket
    memory_fd: int
    control_fd: int
    pid: int
    is_low: bool = False

    def close(self) -> None:
        """Let socket and files go, in this process."""
        self.peer.close()
        os.close(self.memory_fd)
        os.close(self.control_fd)


def meet(peer: socket.socket, options: DrmOptions) -> DrmProgram:
    """Answer a greeting that has come.  ProtocolError if it is none."""
    part = gpu(options.gpu).told(options.units)
    (memory_fd, control_fd), is_low = greeting(peer)
    try:
        _check_files(memory_fd, control_fd)
        peer.sendall(welcome(part, options.memory_bytes))
    except (ProtocolError, OSError):
        close_files((memory_fd, control_fd))
        raise
    return DrmProgram(peer, memory_fd, control_fd, process_of(peer), is_low)


def _check_files(memory_fd: int, control_fd: int) -> None:
    need_seal(memory_fd, "the file of the memory")
    need_seal(control_fd, "the page of counters")
    if os.fstat(control_fd).st_size < CONTROL_BYTES:
        raise ProtocolError("the page of counters is too short")
