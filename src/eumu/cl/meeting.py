"""How a program and its engine process meet; quick to import, as a program waits for the answer."""

from __future__ import annotations

import fcntl
import os
import socket
from typing import Final

from eumu.cl.facts import facts
from eumu.cl.options import Options
from eumu.cl.protocol import ProtocolError, hello, reply
from eumu.platforms import platform
from eumu.settings import CL_CHECK, CL_DEVICE, CL_ENGINE, FAULT_ENDS, TRACEBACK

__all__ = ["meet", "options_of_environment"]

_GET_SEALS, _SHRINK = 1034, 2
_LEAST_BYTES: Final = 1 << 20


def options_of_environment() -> Options:
    """What the variables of the program say; SettingError or UnknownDevice for what is none."""
    return Options(
        device=platform(CL_DEVICE.get()).name,
        engine=CL_ENGINE.get(),
        check=CL_CHECK.get(),
        aborts=FAULT_ENDS.get(),
        traceback=TRACEBACK.get(),
    )


def meet(peer: socket.socket, options: Options) -> tuple[int, int]:
    """Answer a greeting; the address and size of the memory, which is mapped here now."""
    from eumu.cl.mapping import map_file

    fd, base, size = hello(peer)
    try:
        seals = fcntl.fcntl(fd, _GET_SEALS)
        if not seals & _SHRINK:  # or the other owner could end this process by a signal
            raise ProtocolError("the file of the memory is not sealed against shrinking")
        map_file(fd, base, size)
    finally:
        os.close(fd)
    reply(peer, 0, facts(platform(options.device), checks=options.check))
    return base, size
