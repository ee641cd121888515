"""The engine process of one program: reads what the shim submits and runs it.

The main thread reads; each hardware context has a thread.  When the program is gone, or does not
keep to the protocol, the process ends at once, whatever its threads are doing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from eumu.beside.door import FAULTED, FOUND, explained, lose, note, say
from eumu.beside.new_findings import New
from eumu.beside.peer import abort
from eumu.beside.threads import NoThread, start
from eumu.device.chip import HostClock
from eumu.device.commands import COMMANDS, CommandError, gpgpu
from eumu.device.state.sampler import BindingTableState, SamplerState
from eumu.device.state.surface import SurfaceState
from eumu.drm.contexts import MOST_COMMANDS, MOST_THREADS, HardwareContext
from eumu.drm.findings import write_findings
from eumu.drm.greeting import DrmProgram
from eumu.drm.memory import DriverMemory
from eumu.drm.options import DrmOptions
from eumu.drm.parts import Gpu, gpu
from eumu.drm.programs import Programs
from eumu.drm.progress import Progress
from eumu.drm.protocol import Built, Submission, messages
from eumu.drm.record import NotedClock, Recorder
from eumu.errors import Fault, Finding
from eumu.exec.tiered import tiered
from eumu.runtime.batches import BatchReport, CommandQueue
from eumu.runtime.device import Device
from eumu.runtime.engines import DRIVER_FUEL

if TYPE_CHECKING:
    from eumu.beside.report import KernelProfiles

_AS_HARDWARE: Final = (
    "  eumu gpu --hardware-bounds goes on as hardware: reads give 0, writes have no effect"
)
_SHOWN: Final = 20  # findings that are printed
_KEPT: Final = 10_000  # that are written to a file
_LAST_S: Final = 5.0  # what a batch gets to end in when its program is gone, if files need that


class _Log:
    """Tells people what became of submissions, on standard error and in the log."""

    def __init__(self, options: DrmOptions, program: int) -> None:
        self._options, self._program = options, program
        self._new = New()
        self.found: list[Finding] = []
        self.faulted = self._is_lost = False

    def ran(self, submission: Submission, report: BatchReport, seconds: float) -> None:
        self._tell(report.undefined)
        if self._options.log is None:
            return
        engines = ", ".join(sorted(report.engines)) or "no engine"
        self._note(
            f"context {submission.context} batch {submission.batch:#x}:"
            f" {len(report.commands)} commands that start threads, {report.groups} groups,"
            f" {report.threads} threads, {report.instructions} instructions, {engines},"
            f" {1e3 * seconds:.2f} ms",
            *(f"  kernel {name}" for name in report.kernels),
            *(f"  {finding.message}" for finding in report.findings),
        )

    def failed(self, submission: Submission, error: Exception) -> None:
        text, is_typed = explained(error)
        if isinstance(error, CommandError):
            text, is_typed = str(error), True
        if isinstance(error, Fault):
            self._tell(error.findings)
            self._keep(error.finding)
        else:
            self._keep(Finding("error", text.splitlines()[0]))
        self.faulted = True
        lines = [f"eumu: context {submission.context} hangs from now on: {text}"]
        if self._options.strict_bounds and " bytes of surface " in text:
            lines.append(_AS_HARDWARE)
        if not is_typed:
            lines.append("  this is a bug in eumu; EUMU_TRACEBACK=1 shows where")
        say("\n".join(lines))
        if self._options.traceback:
            sys.excepthook(type(error), error, error.__traceback__)
        self._note(*lines)
        note(self._options.status, FAULTED)
        if self._options.aborts:
            abort(self._program)

    def _tell(self, findings: Iterable[Finding]) -> None:
        """What a checked run found, each place once, and no more than so many."""
        for finding in self._new.of(findings):
            self._keep(finding)
            text = str(finding)
            note(self._options.status, FOUND)
            if len(self._new) <= _SHOWN:
                say(text)
            self._note(text)

    def _keep(self, finding: Finding) -> None:
        if len(self.found) < _KEPT:
            self.found.append(finding)

    def _note(self, *lines: str) -> None:
        if self._options.log is None or self._is_lost:
            return
        try:
            with open(self._options.log, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{self._program}: " + "\n".join(lines) + "\n")
        except OSError as error:
            self._is_lost = True
            lose(self._options.status, f"--log {self._options.log}: {error.strerror}")


def serve(program: DrmProgram, options: DrmOptions) -> None:
    """Run what one program submits until it is gone.

    ProtocolError if it does not keep to the protocol.
    """
    part = gpu(options.gpu)
    progress = Progress(program.control_fd)
    memory = DriverMemory(program.memory_fd, exact=bool(options.check), low=program.is_low)
    device = _device(part, memory, options)
    recorder = _recorder(program, options, device)
    with contextlib.suppress(NoThread):  # it only makes the first kernel quicker
        start(partial(_import_more, device.engine))
    programs = Programs()
    log, turn = _Log(options, program.pid), threading.Lock()
    contexts: dict[int, HardwareContext] = {}

    make_queue = partial(
        CommandQueue,
        per_thread_first=not program.is_low,
        known=programs.known,
        most_threads=MOST_THREADS,
        most_commands=MOST_COMMANDS,
    )
    profiles = _profiles(options, device)
    for message in messages(program.peer, os.fstat(program.memory_fd).st_size):
        if isinstance(message, Built):
            programs.add(message)
            if recorder is not None:
                with turn:
                    recorder.built(message)
            continue
        context = contexts.get(message.context)
        if context is None:
            context = HardwareContext(device, memory, turn, progress, log, make_queue, recorder)
            contexts[message.context] = context
        context.put(message)
    writes = recorder is not None or profiles is not None or options.findings is not None
    is_idle = writes and turn.acquire(timeout=_LAST_S)
    if recorder is not None and is_idle:  # else it ends within a step, and says so
        recorder.close()
    _leave(program.pid, options, profiles if is_idle else None, log)


def _device(part: Gpu, memory: DriverMemory, options: DrmOptions) -> Device:
    device = Device(
        part.platform,
        options.engine,
        check=options.check or False,
        strict_bounds=options.strict_bounds,
        memory_bytes=1 << 16,
        part=part.part,
    )
    device.memory, device.clock = memory, HostClock(part.hertz)
    device.default_fuel = DRIVER_FUEL
    if device.engine == "jit" and not options.check and options.report is None:
        device.use("jit", tiered())
    return device


def _recorder(program: DrmProgram, options: DrmOptions, device: Device) -> Recorder | None:
    """What writes down all that the program submits, if the user has asked for that."""
    if options.dump is None:
        return None
    if program.is_low:
        lose(options.status, f"--dump {options.dump}: there are no records of programs for Vulkan")
        return None
    device.clock = clock = NotedClock(device.clock)
    lost = partial(lose, options.status)
    return Recorder(options.dump, program.pid, options, program.memory_fd, clock, lost)


def _profiles(options: DrmOptions, device: Device) -> KernelProfiles | None:
    """What watches the device for a report, if the user has asked for one."""
    if options.report is None:
        return None
    from eumu.beside.report import KernelProfiles

    device.observer = profiles = KernelProfiles(device.part)
    return profiles


def _leave(number: int, options: DrmOptions, profiles: KernelProfiles | None, log: _Log) -> None:
    """The files that the user has asked for."""
    if profiles is not None and options.report is not None:
        from eumu.beside.report import say_where

        say_where(profiles, options.report, number, options.status)
    if options.findings is None:
        return
    record = options.findings, number, options.format, log.found
    try:
        name = write_findings(*record, faulted=log.faulted, gpu=options.gpu)
    except OSError as error:
        lose(options.status, f"--findings {options.findings}: {error.strerror}")
    else:
        say(f"eumu: what was found is in {name}")


def _import_more(engine: str) -> None:
    """What most programs need, while the driver's compiler makes their first kernel.

    Who needs it imports it, so that an error here is nobody's.
    """
    with contextlib.suppress(ImportError, OSError, MemoryError):
        _know_layouts()
        if engine == "jit":
            import_module("eumu.exec.jit.driver.module")
            from eumu.exec.jit.host.cache import engine_version

            engine_version()
        import_module("eumu.device.functions")


def _know_layouts() -> None:
    """Where the fields of commands and states are: the first batch would take 20 ms to find out."""
    for kind in COMMANDS.values():
        kind.rows()
        kind.reserved()
    for state in (gpgpu.InterfaceDescriptorData, SurfaceState, SamplerState, BindingTableState):
        state.rows()
