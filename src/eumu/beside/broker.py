"""Starts an engine process for each program that comes: `python -m eumu.beside.broker`.

Programs are greeted at once, by what is quick to import: many only ask what GPU there is.  Between
greetings the engines are imported, once and module by module; engine processes are forked then.
The process was started with the legacy layout of mappings, so that it has nothing where programs
have theirs.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Final

from eumu.beside.door import (
    FAULTED,
    Door,
    HostProgram,
    ProgramOptions,
    ProtocolError,
    explained,
    note,
    say,
)

_LOOK_S: Final = 0.5
_GRACE_S: Final = 5.0
_MOST_SILENT: Final = 128  # that have come and said nothing; the eldest must go then


class _Programs:
    """The programs that are served, by their engine process.

    One whose engine process has died may wait for ever for a result: it is ended a while later.
    """

    def __init__(self) -> None:
        self._by_engine: dict[int, int] = {}  # descriptors of processes (pidfd)
        self._doomed: list[tuple[float, int]] = []

    def add(self, engine: int, program: HostProgram) -> None:
        for found in _opened(program):
            self._by_engine[engine] = found

    def forsake(self, program: HostProgram) -> None:
        """A program that has no engine process will be ended, too."""
        self._doomed += [(time.monotonic() + _GRACE_S, found) for found in _opened(program)]

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


def _opened(program: HostProgram) -> list[int]:
    """The descriptor of a program's process; none for one that is not seen from here."""
    if program.pid:
        with contextlib.suppress(OSError):
            return [os.pidfd_open(program.pid)]
    return []


class _Broker:
    """Greets programs, and forks an engine process for each when all is imported."""

    def __init__(self, listener: socket.socket, door: Door, options: ProgramOptions) -> None:
        self._listener, self._door, self._options = listener, door, options
        self._programs = _Programs()
        self._silent: list[socket.socket] = []  # have come and said nothing yet
        self._met: list[HostProgram] = []  # those that wait for an engine process
        self._steps = warm(door.needed, options)
        self._is_warm = False

    def run(self) -> None:
        """Serve until standard input is closed."""
        while True:
            ready = self._ready(_LOOK_S if self._is_warm else 0)
            self._programs.look()
            if sys.stdin.fileno() in ready:
                return
            for peer in [peer for peer in self._silent if peer.fileno() in ready]:
                self._greet(peer)
            if self._listener.fileno() in ready:
                self._accept()
            elif not ready and not self._is_warm:
                self._is_warm = next(self._steps, None) is None
            while self._is_warm and self._met:
                self._fork(self._met.pop(0))

    def _ready(self, seconds: float) -> set[int]:
        """The descriptors that have something to say, whatever their numbers are."""
        poll = select.poll()
        for source in (self._listener, sys.stdin, *self._silent):
            poll.register(source, select.POLLIN)
        return {fd for fd, _ in poll.poll(1000 * seconds)}

    def _accept(self) -> None:
        """Let a program in; one that has said nothing for long makes room for it."""
        try:
            self._silent.append(self._listener.accept()[0])
        except OSError as error:  # there are too many files, or it has gone again
            _note_failure(error, self._options)
            if not self._silent:
                time.sleep(_LOOK_S)
                return
            self._silent.pop(0).close()
        if len(self._silent) > _MOST_SILENT:
            self._silent.pop(0).close()

    def _greet(self, peer: socket.socket) -> None:
        self._silent.remove(peer)
        try:
            self._met.append(self._door.meet(peer, self._options))
        except (ProtocolError, OSError) as error:
            _note_failure(error, self._options)
            peer.close()

    def _fork(self, program: HostProgram) -> None:
        try:
            engine = os.fork()
        except OSError as error:  # there are too many processes: the program sees its end
            _note_failure(error, self._options)
            if self._door.hangs:
                self._programs.forsake(program)
            program.close()
            return
        if engine == 0:
            self._listener.close()
            for peer in self._silent:
                peer.close()
            for other in self._met:
                other.close()  # its end must be seen by its own engine process alone
            _child(program, self._door, self._options)
        if self._door.hangs:
            self._programs.add(engine, program)
        program.close()


def main(name: str, text: str) -> int:
    """Serve until the control pipe, standard input, is closed.

    `name` is that of a door's module, the text JSON of its options.
    """
    door: Door = import_module(name)
    request = json.loads(text)
    listener = socket.socket(fileno=request.pop("listener"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Broker(listener, door, door.options(**request)).run()
    return 0


def _child(program: HostProgram, door: Door, options: ProgramOptions) -> None:
    """The engine process; it ends here."""
    try:
        door.serve(program, options)
        os._exit(0)
    except BaseException as error:  # the process must not go on as the broker that it was
        if explained(error)[1]:
            _note_failure(error, options)
        else:
            sys.excepthook(*sys.exc_info())
            _note_status(options)
    os._exit(1)


def _note_failure(error: BaseException, options: ProgramOptions) -> None:
    say(f"eumu: {explained(error)[0]}")
    _note_status(options)


def _note_status(options: ProgramOptions) -> None:
    note(options.status, FAULTED)


def warm(needed: Iterable[str], options: ProgramOptions) -> Iterator[str]:
    """Import what the first kernel needs, one step after the other."""
    gc.disable()  # what is imported stays
    for module in needed:
        import_module(module)
        yield module
    if options.engine != "interp":
        with contextlib.suppress(ImportError, OSError):
            from eumu.exec.jit import Jit

            Jit()  # finds out what processor this is
    gc.enable()
    gc.freeze()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
