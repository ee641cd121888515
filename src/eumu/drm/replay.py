"""Runs a record again: the same memory at the same addresses, without the program and its driver.

Objects lie where the program had them, so it runs in a process of its own with the legacy layout of
mappings: `python -m eumu.drm.replay`.
"""

from __future__ import annotations

import json
import operator
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Final

from eumu.beside.new_findings import New
from eumu.beside.report import KernelProfiles
from eumu.beside.session import legacy_layout
from eumu.device.commands import CommandError
from eumu.drm.aub import is_capture
from eumu.drm.captured import replay_capture
from eumu.drm.contexts import MOST_COMMANDS
from eumu.drm.debugger import Left, of_user
from eumu.drm.memory import DriverMemory
from eumu.drm.outcome import ReplayOutcome
from eumu.drm.parts import gpu
from eumu.drm.programs import Programs
from eumu.drm.protocol import ADDRESS_END, Built, Piece, Submitted
from eumu.drm.record import CHANGED, PAGE, RECORD, changed_lines, digest, pages_of
from eumu.errors import EumuError, FormatError
from eumu.runtime.batches import BatchReport, CommandQueue
from eumu.runtime.device import Device
from eumu.runtime.engines import DRIVER_FUEL, ENGINES

_MOST_BYTES: Final = 1 << 30  # of an entry
_MOST_LINE: Final = 1 << 24
_CUT: Final[dict[str, Any]] = {"entry": "cut"}


class _ReplayedClock:
    """Reads as the record's did."""

    def __init__(self) -> None:
        self.left: list[int] = []

    @property
    def now(self) -> int:
        return self.left.pop(0) if self.left else 0

    def count(self, steps: int) -> None:
        """Time is what the record says."""


Entry = tuple[dict[str, Any], bytes]


def entries(file: BinaryIO, name: str) -> Iterator[Entry]:
    """Entries of a record, the first line too; FormatError for what is none.

    The last one is `_CUT` where the file ends within an entry, as the process was killed that wrote
    it, or its disk was full.
    """
    while line := file.readline(_MOST_LINE):
        if not line.endswith(b"\n"):
            yield _CUT, b""
            return
        try:
            entry = json.loads(line)
            size = entry["size"]
        except (ValueError, TypeError, KeyError):
            raise FormatError(f"{name}: this is no record of eumu gpu --dump") from None
        if not isinstance(size, int) or not 0 <= size <= _MOST_BYTES:
            raise FormatError(f"{name}: an entry of {size!r} bytes")
        data = file.read(size)
        if len(data) < size:
            yield _CUT, b""
            return
        yield entry, data


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    """What does not fit in an entry is the file's mistake."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, struct.error, zlib.error) as error:
        if isinstance(error, EumuError):
            raise
        raise FormatError(f"{name}: an entry of the record is damaged: {error!r}") from None


def _unpacked(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(packed, _MOST_BYTES)
    if not unpacker.eof:
        raise ValueError("compressed bytes without an end")
    return data


class _Action(Enum):
    SUBMIT = "submit"
    RESUME = "resume"
    ABANDON = "abandon"
    BEGIN_AND_ABANDON = "begin and abandon"


class _Replay:
    def __init__(
        self,
        name: str,
        first: dict[str, Any],
        engine: str | None,
        check: str,
        reports: bool,
        debug: bool = False,
    ) -> None:
        if first.get("what") != RECORD:
            raise FormatError(
                f"{name}: this is no record of eumu gpu --dump, or of another version"
            )
        with _decoding(name):
            part, engine = gpu(str(first["gpu"])), engine or first["engine"]
            of_record = "cheap" if first["check"] is True else str(first["check"] or "")
            wanted, strict = check or of_record, bool(first["strict_bounds"])
            if engine is not None and engine not in ENGINES:
                raise ValueError(f"no engine is called {engine!r}")
        self.name, self.outcome, self.clock = name, ReplayOutcome(), _ReplayedClock()
        self.device = Device(
            part.platform,
            engine,
            check=wanted or False,
            strict_bounds=strict,
            memory_bytes=1 << 16,
            part=part.part,
        )
        self.fd = os.memfd_create("eumu-replay")
        os.ftruncate(self.fd, ADDRESS_END)
        self.memory = DriverMemory(self.fd, exact=bool(wanted))
        self.device.memory, self.device.clock = self.memory, self.clock
        self.device.default_fuel = DRIVER_FUEL
        self.queues: dict[int, CommandQueue] = {}
        self.programs, self.new = Programs(), New()
        self.profiles = KernelProfiles(self.device.part) if reports else None
        self.device.observer = of_user(self.memory.bytes_at) if debug else self.profiles
        self.after: dict[int, bytes] = {}  # pages behind the last command that started threads

    def run(self, records: Iterator[Entry]) -> ReplayOutcome:
        step: dict[str, Any] | None = None
        for entry, data in records:
            match entry.get("entry"):
                case "pages":
                    with _decoding(self.name):
                        self._write(entry["addresses"], data)
                case "reset":
                    self.queues.pop(entry.get("context", 0), None)
                case "built":
                    with _decoding(self.name):
                        built, size = _unpacked(data), operator.index(entry["source"])
                        self.programs.add(Built(built[:size], built[size:]))
                case "step":
                    step = entry
                case "changed" if step is not None:
                    self._step(step, entry, data)
                    step = None
                case "cut":
                    self.outcome.is_cut = True
                case other:
                    raise FormatError(f"{self.name}: no entry is called {other!r} here")
        self.outcome.is_cut |= step is not None
        return self.outcome

    def _write(self, runs: list[tuple[int, int]], packed: bytes) -> None:
        data = _unpacked(packed)
        if len(data) != PAGE * sum(count for _, count in runs):
            raise FormatError(f"{self.name}: pages of another size than their list")
        at = 0
        for address, count in runs:
            self._check_place(address, count * PAGE)
            os.pwrite(self.fd, data[at : at + count * PAGE], address)
            at += count * PAGE

    def _check_place(self, address: int, size: int) -> None:
        if (
            address % PAGE
            or size % PAGE
            or not size > 0
            or not PAGE <= address < ADDRESS_END - size
        ):
            raise FormatError(f"{self.name}: {size} bytes at {address:#x}")

    def _step(self, step: dict[str, Any], end: dict[str, Any], changed: bytes) -> None:
        objects = []
        with _decoding(self.name):
            for handle, address, size, wanted in step["objects"]:
                self._check_place(address, size)
                if not 0 <= wanted <= size:
                    raise ValueError(f"{wanted} of {size} bytes")
                pieces = (Piece(address, size),)
                objects.append(Submitted(handle, address, size, pieces, wanted))
            ticks, context, batch = [int(t) for t in end["clock"]], step["context"], step["batch"]
            wanted = dict(CHANGED.iter_unpack(_unpacked(changed)))
            action = _Action(step["step"])
            hash(context), operator.index(batch)
        before = self._pages(objects)
        self.memory.bind(objects)
        self.clock.left = ticks
        queue = self.queues.get(context)
        if queue is None:
            queue = self.queues[context] = CommandQueue(
                self.device, known=self.programs.known, most_commands=MOST_COMMANDS
            )
        self.outcome.steps += 1
        self.after = {}
        queue.ran = lambda: self._note(objects)
        try:
            report = self._begun(action, queue, batch)()
            self.outcome.walkers += len(report.commands)
            self.outcome.findings += self.new.of(report.undefined)
        except (EumuError, CommandError) as error:
            self.outcome.faults.append(str(error))
            ending = "fault"
        else:
            ending = "fine"
        if ending != end.get("outcome"):
            self.outcome.other_ends += 1
        elif ending == "fine":  # how far threads have come at a fault is a matter of engines
            now = self.after or self._pages(objects)
            self._compare(before, now, wanted)
        self._restore(before, self._pages(objects))

    def _note(self, objects: list[Submitted]) -> None:
        self.after = self._pages(objects)

    def _restore(self, before: dict[int, bytes], now: dict[int, bytes]) -> None:
        """Memory is again what the file has said of it: that is what its next pages differ from."""
        for address in before.keys() | now.keys():
            page = before.get(address, bytes(PAGE))
            if now.get(address) != page:
                os.pwrite(self.fd, page, address)

    def _begun(self, action: _Action, queue: CommandQueue, batch: int) -> Callable[[], BatchReport]:
        match action:
            case _Action.SUBMIT:
                queue.invalidate()
                queue.begin(batch)
                return queue.resume
            case _Action.BEGIN_AND_ABANDON:
                queue.begin(batch)
                return queue.abandon
            case _Action.ABANDON:
                return queue.abandon
            case _Action.RESUME:
                return queue.resume

    def _pages(self, objects: list[Submitted]) -> dict[int, bytes]:
        return dict(pages_of(self.fd, objects))

    def _compare(
        self, before: dict[int, bytes], now: dict[int, bytes], wanted: dict[int, bytes]
    ) -> None:
        changed = {address: digest(line) for address, line in changed_lines(before, now)}
        self.outcome.lines += len(changed)
        self.outcome.by_program += len(wanted.keys() - changed.keys())
        self.outcome.differ += [a for a, replayed in changed.items() if replayed != wanted.get(a)]


def run(
    path: str, engine: str | None, *, check: str, report: str | None = None, debug: bool = False
) -> int:
    """Run a record in a process of its own; its exit status."""
    words = [path, engine or "", check, report or "", "debug" if debug else ""]
    process = subprocess.run(
        [sys.executable, "-m", "eumu.drm.replay", *words],
        preexec_fn=legacy_layout,
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
        check=False,
    )
    return process.returncode


def replay(
    path: Path, engine: str | None, *, check: str, report: str | None = None, debug: bool = False
) -> ReplayOutcome:
    """Run a record in this process, whose mappings must leave room for its objects."""
    with path.open("rb") as file:
        if is_capture(file.read(4)):
            file.seek(0)
            return replay_capture(file, path.name, engine, check, report, debug=debug)
        file.seek(0)
        records = entries(file, path.name)
        first, _ = next(records, ({}, b""))
        made = _Replay(path.name, first, engine, check, report is not None, debug)
        try:
            outcome = made.run(records)
        except Left:
            outcome = made.outcome
            outcome.is_left = True
    if made.profiles is not None and report is not None:
        outcome.page = made.profiles.write(report, os.getpid())
    return outcome


def _main(words: list[str]) -> int:
    path, engine, check, report, debug = words
    try:
        outcome = replay(
            *(Path(path), engine or None), check=check, report=report or None, debug=bool(debug)
        )
    except (EumuError, OSError) as error:
        print(f"eumu: {error}", file=sys.stderr)
        return 1
    for fault in outcome.faults:
        print(f"eumu: {fault}", file=sys.stderr)
    for finding in outcome.findings[:20]:
        print(finding, file=sys.stderr)
    for line in outcome.lines_of_text():
        print(line)
    if report:
        print(f"what kernels did is in {outcome.page}" if outcome.page else "no kernel ran")
    if outcome.faults:
        return 3
    return 1 if outcome.differ or outcome.other_ends or outcome.findings else 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
