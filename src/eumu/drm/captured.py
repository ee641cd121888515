"""Runs what a capture of the driver's own (`drm.aub`) says: the batches, on the memory of the file.

Addresses are those of the program that wrote it; where this process has something there, all of
them are moved by one distance.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from eumu.beside.new_findings import New
from eumu.beside.report import KernelProfiles
from eumu.device.chip import HostClock
from eumu.device.commands import CommandError, Stop
from eumu.drm.aub import Capture, Ready
from eumu.drm.contexts import MOST_COMMANDS
from eumu.drm.debugger import Left, of_user
from eumu.drm.memory import DriverMemory, Ranges
from eumu.drm.outcome import ReplayOutcome
from eumu.drm.parts import gpu
from eumu.drm.protocol import ADDRESS_END, Piece, Submitted
from eumu.drm.record import changed_lines, pages_of
from eumu.errors import EumuError, FormatError, Unsupported
from eumu.runtime.batches import CommandQueue
from eumu.runtime.device import Device
from eumu.runtime.engines import DRIVER_FUEL

_LOWEST: Final = 1 << 30  # where objects may lie here
_ROOM: Final = 1 << 30  # around them, for what comes later
_STEP: Final = 1 << 40

Range = tuple[int, int]


def replay_capture(
    file: BinaryIO,
    name: str,
    engine: str | None,
    check: str,
    report: str | None,
    *,
    debug: bool = False,
) -> ReplayOutcome:
    """Run a capture in this process; FormatError for what is none, Unsupported for other parts."""
    fd = os.memfd_create("eumu-capture")
    os.ftruncate(fd, ADDRESS_END)
    capture = Capture(file, name, fd)
    replay = _Replay(capture, fd, engine, check, reports=report is not None, debug=debug)
    try:
        for ready in replay.capture:
            replay.run(ready)
    except Left:
        replay.outcome.is_left = True
    if replay.profiles is not None and report is not None:
        replay.outcome.page = replay.profiles.write(report, os.getpid())
    return replay.outcome


class _Replay:
    def __init__(
        self,
        capture: Capture,
        fd: int,
        engine: str | None,
        check: str,
        *,
        reports: bool,
        debug: bool,
    ) -> None:
        part = gpu(capture.part)
        self.capture, self.outcome, self.new = capture, ReplayOutcome(is_capture=True), New()
        self._fd, self._check = fd, check
        self.device = Device(
            part.platform, engine, check=check or False, memory_bytes=1 << 16, part=part.part
        )
        self.device.clock = HostClock(part.hertz)
        self.device.default_fuel = DRIVER_FUEL
        self.profiles = KernelProfiles(self.device.part) if reports else None
        self.memory: DriverMemory | None = None
        self.observer = of_user(self._bytes_at) if debug else self.profiles
        self.device.observer = self.observer
        self.queues: dict[int, CommandQueue] = {}
        self.hangs: set[int] = set()  # contexts

    def run(self, ready: Ready) -> None:
        """The batches of a submission; behind a fault its context runs no more."""
        if ready.context in self.hangs:
            return
        if not ready.objects:
            raise FormatError(f"{self.capture.name}: a context whose page tables show nothing")
        if self.memory is None:
            shift = shift_of([(m.address, m.end) for m in ready.objects], list(_taken()))
            # Sizes that the program asked for are not in the file.
            self.memory = DriverMemory(self._fd, shift=shift)
            self.device.memory = self.memory
            self.device.observer = self.observer
        self.memory.bind(ready.objects)
        queue = self.queues.setdefault(
            ready.context, CommandQueue(self.device, most_commands=MOST_COMMANDS)
        )
        for batch in ready.batches:
            self._batch(queue, ready, batch)

    def _batch(self, queue: CommandQueue, ready: Ready, batch: int) -> None:
        before = self._pages(ready.objects)
        self.outcome.steps += 1
        try:
            queue.invalidate()
            report = queue.submit(batch)
            if report.stop is Stop.SEMAPHORE:
                raise Unsupported(
                    f"{self.capture.name}: the batch at {batch:#x} waits for a semaphore, which"
                    " the file does not signal"
                )
        except (EumuError, CommandError) as error:
            self.hangs.add(ready.context)
            self.outcome.faults.append(str(error))
            return
        self.outcome.walkers += len(report.commands)
        self.outcome.findings += self.new.of(report.undefined)
        now = self._pages(ready.objects)
        self.outcome.lines += sum(1 for _ in changed_lines(before, now))

    def _bytes_at(self, address: int, size: int) -> bytes | None:
        return None if self.memory is None else self.memory.bytes_at(address, size)

    def _pages(self, objects: Sequence[Submitted]) -> dict[int, bytes]:
        """What is not zero, by its place in the file: tables may show a page many times."""
        places = Ranges()
        for made in objects:
            for piece in made.pieces:
                places.add(piece.offset, piece.offset + piece.size)
        shown = [Submitted(0, a, b - a, (Piece(a, b - a),)) for a, b in places]
        return dict(pages_of(self._fd, shown))


def shift_of(objects: Sequence[Range], taken: Sequence[Range]) -> int:
    """By how much addresses are moved down, so that objects lie where nothing else is.

    Unsupported where no distance will do.

    >>> shift_of([(1 << 42, 1 << 43)], [])
    0
    >>> hex(shift_of([(1 << 42, 1 << 43)], [(1 << 42, (1 << 42) + 4096)]))
    '0x10000000000'
    """
    low, high = min(r[0] for r in objects), max(r[1] for r in objects)
    if high > ADDRESS_END:
        raise Unsupported(
            f"memory at {high - 1:#x}: a process has addresses of 47 bits; with the driver's"
            " OverrideGpuAddressSpace=47 it makes captures that have no others"
        )
    shift = 0
    while low - shift >= _LOWEST:
        moved = [(start - shift - _ROOM, end - shift + _ROOM) for start, end in objects]
        if not any(a < end and start < b for a, b in moved for start, end in taken):
            return shift
        shift += _STEP
    raise Unsupported(
        f"a capture whose memory lies from {low:#x} to {high:#x}: a process has no such room"
    )


def _taken() -> Iterator[Range]:
    """What this process has."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        start, _, end = line.split(" ", 1)[0].partition("-")
        yield int(start, 16), min(int(end, 16), ADDRESS_END)
