"""A record of what a program submitted: pages of its memory, batches, and what they changed.

A file begins with a line that says what it is and how the program was run.  Each entry is a line of
JSON, whose `size` says how many bytes follow it.  A `step` is a batch that begins, goes on or is
abandoned, with the objects there are.  Before it come the `pages` that differ from what the file
had before; behind it the `changed` cache lines: address and digest, as the last command that
started threads left them, before the batch tells the program.  What the program itself writes while
a batch runs is among them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Protocol

from eumu.device.chip import Clock
from eumu.drm.options import DrmOptions
from eumu.drm.protocol import Built, Submission, Submitted

RECORD: Final = "eumu-gpu-record-2"
PAGE: Final = 4096
LINE: Final = 64  # two sides seldom write to one cache line at once
CHANGED: Final = struct.Struct("<Q8s")
_ZEROS: Final = bytes(PAGE)
_BLOCK: Final = 1 << 20  # bytes that are read at once

Pages = dict[int, bytes]  # by address


class NotedClock:
    """A clock that notes what was read from it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.read: list[int] = []

    @property
    def now(self) -> int:
        self.read.append(self._clock.now)
        return self.read[-1]

    def count(self, steps: int) -> None:
        self._clock.count(steps)


def digest(data: bytes) -> bytes:
    """8 bytes that stand for others."""
    return hashlib.blake2b(data, digest_size=8).digest()


EMPTY: Final = digest(_ZEROS)


def pages_of(fd: int, objects: Sequence[Submitted]) -> Iterator[tuple[int, bytes]]:
    """Pages of objects that are not zero, with their addresses; holes of the file stay holes."""
    for made in objects:
        address = made.address
        for piece in made.pieces:
            for offset, data in _blocks(fd, piece.offset, piece.offset + piece.size):
                at = address + offset - piece.offset
                for k in range(0, len(data), PAGE):
                    page = data[k : k + PAGE]
                    if page != _ZEROS:
                        yield at + k, page
            address += piece.size


def changed_lines(before: Pages, after: Pages) -> Iterator[tuple[int, bytes]]:
    """Addresses and bytes of cache lines that are others in `after`; what is missing is 0."""
    for address in sorted(before.keys() | after.keys()):
        old, new = before.get(address, _ZEROS), after.get(address, _ZEROS)
        if old != new:
            for k in range(0, PAGE, LINE):
                if old[k : k + LINE] != new[k : k + LINE]:
                    yield address + k, new[k : k + LINE]


def _blocks(fd: int, at: int, end: int) -> Iterator[tuple[int, bytes]]:
    while at < end:
        try:
            at = max(at, os.lseek(fd, at, os.SEEK_DATA) & -PAGE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # no data is behind
            raise
        if at < end:
            data = os.pread(fd, min(_BLOCK, end - at), at)
            yield at, data
            at += len(data)


class _Output(Protocol):
    def write(self, data: memoryview, /) -> int: ...

    def close(self) -> None: ...


class Recorder:
    """Writes the record of one program to a file in a directory.

    `begin` and `end` stand around each step, while nothing else runs on the device.  Where the file
    cannot be written, `lost` is told so, once, and the program goes on without a record.
    """

    def __init__(
        self,
        directory: str,
        program: int,
        options: DrmOptions,
        fd: int,
        clock: NotedClock,
        lost: Callable[[str], None],
    ) -> None:
        self.path = Path(directory) / f"{program}.eumu"
        self._lost, self._is_over = lost, False
        self._file: _Output | None = None
        self._fd, self._clock = fd, clock
        self._written: dict[int, bytes] = {}  # digests of the pages that the file has
        self._before: Pages = {}
        self._after: Pages | None = None
        kept = ("gpu", "engine", "check", "strict_bounds")
        told = {name: value for name, value in asdict(options).items() if name in kept}
        with self._recording():
            self._file = self.path.open("wb", buffering=0)
            self._put({"what": RECORD, **told})

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Around what writes; what cannot be written ends the record."""
        try:
            yield
        except (OSError, MemoryError) as error:
            self._is_over = True
            self._before, self._after, self._written = {}, None, {}
            why = (isinstance(error, OSError) and error.strerror) or "no memory is left"
            file, self._file = self._file, None
            if file is not None:
                with suppress(OSError):
                    file.close()
            self._lost(f"the record {self.path} is not whole: {why}")

    def close(self) -> None:
        """Some file systems say here what they could not write."""
        file, self._file = self._file, None
        if file is not None and not self._is_over:
            with self._recording():
                file.close()

    def reset(self, context: int) -> None:
        """A context was created or destroyed: its state is gone."""
        with self._recording():
            self._put({"entry": "reset", "context": context})

    def built(self, program: Built) -> None:
        """A program was built: names and sources of kernels."""
        with self._recording():
            data = zlib.compress(program.source + program.binary, 1)
            self._put({"entry": "built", "source": len(program.source)}, data)

    def begin(self, step: str, submission: Submission, *, always: bool = True) -> bool:
        """A step comes next; with `always` off only if the program has changed memory.

        Whether it is recorded.
        """
        if not self._is_over:
            with self._recording():
                return self._begin(step, submission, always=always)
        return False

    def _begin(self, step: str, submission: Submission, *, always: bool) -> bool:
        pages = self._pages(submission)
        changed = {
            address: page
            for address, page in pages.items()
            if self._written.get(address, EMPTY) != digest(page)
        }
        for address in self._emptied(submission.objects, pages):
            changed[address] = _ZEROS
        if not always and not changed:
            return False
        self._before, self._after = pages, None
        self._written |= {address: digest(page) for address, page in changed.items()}
        self._put_pages(changed)
        objects = [(o.handle, o.address, o.size, o.wanted) for o in submission.objects]
        entry = {"entry": "step", "step": step, "context": submission.context}
        self._put(entry | {"batch": submission.batch, "objects": objects})
        self._clock.read.clear()
        return True

    def _emptied(self, objects: Sequence[Submitted], pages: Pages) -> list[int]:
        """Pages that the file has and that are zero now."""
        ranges = [(made.address, made.end) for made in objects]
        return [
            address
            for address, written in self._written.items()
            if written != EMPTY
            and address not in pages
            and any(start <= address < end for start, end in ranges)
        ]

    def threads_ran(self, submission: Submission) -> None:
        """A command that started threads is done; the program has not heard of it yet."""
        if not self._is_over:
            with self._recording():
                self._after = self._pages(submission)

    def _pages(self, submission: Submission) -> Pages:
        return dict(pages_of(self._fd, submission.objects))

    def end(self, submission: Submission, outcome: str) -> None:
        """The step has come to an end, one way or the other."""
        if not self._is_over:
            with self._recording():
                self._end(submission, outcome)

    def _end(self, submission: Submission, outcome: str) -> None:
        pages = self._pages(submission) if self._after is None else self._after
        changed = [CHANGED.pack(a, digest(x)) for a, x in changed_lines(self._before, pages)]
        self._before, self._after = {}, None
        entry = {"entry": "changed", "outcome": outcome, "clock": list(self._clock.read)}
        self._put(entry, zlib.compress(b"".join(changed), 1))

    def _put_pages(self, pages: Pages) -> None:
        places = sorted(pages)
        if places:
            data = zlib.compress(b"".join(pages[a] for a in places), 1)
            self._put({"entry": "pages", "addresses": _runs(places)}, data)

    def _put(self, entry: dict[str, Any], data: bytes = b"") -> None:
        if self._is_over or self._file is None:
            return
        line = json.dumps(entry | {"size": len(data)}, separators=(",", ":"))
        left = memoryview(line.encode() + b"\n" + data)
        while left:  # a disk that becomes full takes a part
            left = left[self._file.write(left) :]


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Addresses of pages as (first, how many)."""
    runs: list[tuple[int, int]] = []
    for address in places:
        if runs and runs[-1][0] + runs[-1][1] * PAGE == address:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((address, 1))
    return runs
