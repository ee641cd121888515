"""Starts an engine process for each program that opens the node: `python -m eumu.drm.broker`.

Everything is imported once and processes are forked.  The process was started with the legacy
layout of mappings, so that it has nothing where programs have theirs.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from importlib import import_module
from typing import Final

from eumu.drm.engine import Options, serve
from eumu.drm.protocol import ProtocolError

__all__ = ["main"]

_PEER: Final = struct.Struct("3i")
_NEEDED: Final = (
    *("eumu.device.functions", "eumu.exec.interp", "eumu.lower_native", "eumu.native"),
    *("eumu.native.extent", "eumu.drm.first"),
)
_LOOK_S: Final = 0.5
_GRACE_S: Final = 5.0


class _Programs:
    """The programs that are served, by their engine process.

    One whose engine process has died may wait for ever for a result: it is ended a while later.
    """

    def __init__(self) -> None:
        self._by_engine: dict[int, int] = {}  # descriptors of processes (pidfd)
        self._doomed: list[tuple[float, int]] = []

    def add(self, engine: int, peer: socket.socket) -> None:
        raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        with contextlib.suppress(ProcessLookupError):
            self._by_engine[engine] = os.pidfd_open(_PEER.unpack(raw)[0])

    def look(self) -> None:
        """Note engine processes that have ended, and end programs whose time has come."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                program = self._by_engine.pop(ended[0], None)
                if program is not None and ended[1]:
                    self._doomed.append((time.monotonic() + _GRACE_S, program))
                elif program is not None:
                    os.close(program)
        while self._doomed and self._doomed[0][0] < time.monotonic():
            _, program = self._doomed.pop(0)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(program, signal.SIGABRT)
            os.close(program)


def main(text: str) -> int:
    """Serve until the control pipe, standard input, is closed; the text is JSON of the options."""
    given = json.loads(text)
    listener = socket.socket(fileno=given.pop("listener"))
    options = Options(**given)
    _warm(options)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    programs = _Programs()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [], _LOOK_S)
        programs.look()
        if sys.stdin in ready:
            return 0
        if listener in ready:
            peer, _ = listener.accept()
            engine = os.fork()
            if engine == 0:
                listener.close()
                _child(peer, options)
            programs.add(engine, peer)
            peer.close()


def _child(peer: socket.socket, options: Options) -> None:
    """The engine process; it ends here."""
    try:
        serve(peer, options)
        os._exit(0)
    except ProtocolError as error:
        print(f"eumu: {error}", file=sys.stderr, flush=True)
    except BaseException:  # the process must not go on as the broker that it was
        sys.excepthook(*sys.exc_info())
    if options.status is not None:
        os.write(options.status, b"F")
    os._exit(1)


def _warm(options: Options) -> None:
    """Import what the first kernel needs."""
    for module in _NEEDED:
        import_module(module)
    if options.engine != "interp":
        with contextlib.suppress(ImportError, OSError):
            from eumu.exec.jit import Jit

            Jit()  # finds out what processor this is


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
