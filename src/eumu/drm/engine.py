"""The engine process of one program: reads what the shim submits and runs it.

The main thread reads; each hardware context has a thread.  When the program is gone, or does not
keep to the protocol, the process ends at once, whatever its threads are doing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import sys
import threading
from dataclasses import dataclass

from eumu.device.chip import HostClock
from eumu.device.commands import CommandError
from eumu.drm.contexts import HardwareContext
from eumu.drm.memory import DriverMemory
from eumu.drm.parts import gpu
from eumu.drm.progress import Progress
from eumu.drm.protocol import (
    CONTROL_BYTES,
    ProtocolError,
    Submission,
    greeting,
    messages,
    welcome,
)
from eumu.errors import EumuError
from eumu.exec.host import Engine
from eumu.runtime.batches import BatchReport
from eumu.runtime.device import Device

__all__ = ["Options", "serve"]

_ADD_SEALS, _GET_SEALS, _SHRINK = 1033, 1034, 2
_MEMORY_BYTES = 4 << 30  # what the driver is told that there is
_PEER = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Options:
    """How programs are run; `status` is where a byte goes for each fault."""

    gpu: str = "skl"
    engine: str | None = None
    check: bool = False
    strict_bounds: bool = True
    log: str | None = None
    status: int | None = None
    aborts: bool = False
    traceback: bool = False
    memory_bytes: int = _MEMORY_BYTES


class _Log:
    """Tells people what became of submissions, on standard error and in the log."""

    def __init__(self, options: Options, program: int) -> None:
        self._options, self._program = options, program

    def ran(self, submission: Submission, report: BatchReport, seconds: float) -> None:
        if self._options.log is None:
            return
        engines = ", ".join(sorted(report.engines)) or "no engine"
        self._note(
            f"context {submission.context} batch {submission.batch:#x}:"
            f" {len(report.commands)} commands that start threads, {report.groups} groups,"
            f" {report.threads} threads, {report.instructions} instructions, {engines},"
            f" {1e3 * seconds:.2f} ms",
            *(f"  {finding.message}" for finding in report.findings),
        )

    def failed(self, submission: Submission, error: Exception) -> None:
        known = isinstance(error, (EumuError, CommandError))
        text = str(error) if known else f"internal error: {type(error).__name__}: {error}"
        lines = [f"eumu: context {submission.context} hangs from now on: {text}"]
        if not known:
            lines.append("  this is a bug in eumu; EUMU_TRACEBACK=1 shows where")
        with contextlib.suppress(
            OSError
        ):  # nobody reads: the program is to hear of it all the same
            print("\n".join(lines), file=sys.stderr, flush=True)
        if self._options.traceback:
            sys.excepthook(type(error), error, error.__traceback__)
        self._note(*lines)
        if self._options.status is not None:
            os.write(self._options.status, b"F")
        if self._options.aborts:
            os.kill(self._program, signal.SIGABRT)

    def _note(self, *lines: str) -> None:
        if self._options.log is not None:
            with open(self._options.log, "a") as file:
                file.write(f"{self._program}: " + "\n".join(lines) + "\n")


def serve(peer: socket.socket, options: Options) -> None:
    """Answer one program until it is gone.  ProtocolError if it does not keep to the protocol."""
    part = gpu(options.gpu)
    memory_fd, control_fd = greeting(peer)
    for fd in (memory_fd, control_fd):
        _need_seal(fd)
    if os.fstat(control_fd).st_size < CONTROL_BYTES:
        raise ProtocolError("the page of counters is too short")
    program, _, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    peer.sendall(welcome(part, options.memory_bytes))
    progress, memory = Progress(control_fd), DriverMemory(memory_fd)
    device = Device(
        part.platform,
        options.engine,
        check=options.check,
        strict_bounds=options.strict_bounds,
        memory_bytes=1 << 16,
        part=part.part,
    )
    device.memory, device.clock = memory, HostClock(part.hertz)
    if device.engine == "jit" and not options.check:
        device.use("jit", _tiered())
    log, turn = _Log(options, program), threading.Lock()
    contexts: dict[int, HardwareContext] = {}
    for message in messages(peer, os.fstat(memory_fd).st_size):
        context = contexts.get(message.context)
        if context is None:
            context = HardwareContext(device, memory, turn, progress, log)
            contexts[message.context] = context
        context.put(message)


def _tiered() -> Engine:
    """The fast engine with the interpreter for first launches."""
    from eumu.drm.first import Tiered
    from eumu.exec.interp import Interpreter
    from eumu.exec.jit import Jit

    return Tiered(Jit(), Interpreter())


def _need_seal(fd: int) -> None:
    """A file that its other owner could make shorter would end this process by a signal."""
    try:
        seals = fcntl.fcntl(fd, _GET_SEALS)
    except OSError:
        seals = 0
    if not seals & _SHRINK:
        raise ProtocolError("the files of the greeting are not sealed against shrinking")
