"""The door by eumu's own OpenCL driver, for the broker."""

from __future__ import annotations

import os
import select
import socket
import time
from typing import Final

from eumu.beside.threads import start
from eumu.cl.mapping import map_file
from eumu.cl.meeting import ClProgram, meet
from eumu.cl.options import ClOptions

__all__ = ["hangs", "meet", "needed", "options", "serve"]

needed: Final = (
    *("numpy", "eumu.isa.kinds", "eumu.isa.visa", "eumu.runtime", "eumu.device", "eumu.text"),
    *("eumu.lower", "eumu.zebin.ocloc", "elftools.elf.elffile", "eumu.cl.engine"),
    *("eumu.exec.interp", "eumu.runtime.printf"),
)
_LAST_WORDS_S: Final = 8.0  # to write a report in
hangs: Final = False  # the driver's library hears of an end by its socket
options: Final = ClOptions


def serve(program: ClProgram, options: ClOptions) -> None:
    """Answer a program until it is gone."""
    _end_with(program.peer, _LAST_WORDS_S if options.report is not None else 0.0)
    map_file(program.memory_fd, program.base, program.size)
    os.close(program.memory_fd)
    from eumu.cl import engine

    engine.serve(program, options)


def _end_with(peer: socket.socket, grace_s: float) -> None:
    """End this process when the program is gone, whatever it is doing, so many seconds later."""

    def wait() -> None:
        poll = select.poll()
        poll.register(peer, select.POLLRDHUP)
        poll.poll()
        time.sleep(grace_s)
        os._exit(0)

    start(wait)
