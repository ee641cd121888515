"""How a program and its engine process meet; quick to import, as a program waits for the answer."""

from __future__ import annotations

import os
import socket

from eumu.beside.door import ProtocolError
from eumu.beside.peer import need_seal, process_of
from eumu.cl.facts import facts
from eumu.cl.options import ClOptions
from eumu.cl.protocol import hello, reply
from eumu.exec.checks import checks
from eumu.platforms import platform
from eumu.records import dataclass
from eumu.settings import (
    CL_CHECK,
    CL_DEVICE,
    CL_ENGINE,
    COMPUTE_UNITS,
    FAULT_ENDS,
    HARDWARE_BOUNDS,
    TRACEBACK,
)


@dataclass(frozen=True, slots=True)
class ClProgram:
    """A program that was greeted: its socket, and the file of its device memory.

    The program has `size` bytes of it at the address `base`; `pid` is the number of its process.
    """

    peer: socket.socket
    memory_fd: int
    base: int
    size: int
    pid: int

    def close(self) -> None:
        """Let socket and file go, in this process."""
        self.peer.close()
        os.close(self.memory_fd)


def options_of_environment() -> ClOptions:
    """What the variables of the program say; SettingError or UnknownDevice for what is none."""
    return ClOptions(
        device=platform(CL_DEVICE.get()).name,
        engine=CL_ENGINE.get(),
        check=tuple(sorted(checks(CL_CHECK.get() or False))),
        aborts=FAULT_ENDS.get(),
        traceback=TRACEBACK.get(),
        units=COMPUTE_UNITS.get(),
        strict_bounds=not HARDWARE_BOUNDS.get(),
    )


def meet(peer: socket.socket, options: ClOptions) -> ClProgram:
    """Answer a greeting that has come.  ProtocolError if it is none."""
    fd, base, size = hello(peer)
    try:
        need_seal(fd, "the file of the memory")
        device, checked = platform(options.device), bool(options.check)
        reply(peer, 0, facts(device, checks=checked, units=options.units))
    except (ProtocolError, OSError):
        os.close(fd)
        raise
    return ClProgram(peer, fd, base, size, process_of(peer))
