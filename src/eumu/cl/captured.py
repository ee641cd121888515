"""What the layer `capture/capture.c` writes of a program's kernels, and where two runs differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eumu.errors import FormatError
from eumu.records import dataclass

_SHOWN = 3  # elements that differ


@dataclass(frozen=True, slots=True)
class Contents:
    """A buffer, by the order of its making, after a launch; `place` is where its bytes lie in the
    file, None beyond what files hold."""

    argument: int
    is_svm: bool
    number: int
    size: int
    sum: str
    place: int | None

    def __str__(self) -> str:
        kind = "SVM allocation" if self.is_svm else "buffer"
        return f"argument {self.argument} ({kind} #{self.number}, {self.size} bytes)"


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a program, counted from 1; `is_read` is false where the queue might have waited
    for the program."""

    number: int
    kernel: str
    global_size: tuple[int, int, int]
    is_read: bool
    buffers: tuple[Contents, ...]

    def __str__(self) -> str:
        return f"launch {self.number}, kernel {self.kernel}"


def read(path: Path) -> list[Launch]:
    """The launches of a run, none if the program has made none; FormatError for another file."""
    launches: list[Launch] = []
    places: dict[tuple[bool, int, str], int] = {}  # bytes that did not change are written once
    if not path.exists():
        return launches
    with path.open("rb") as file:
        while line := file.readline():
            words = line.decode("utf-8", "replace").split()
            try:
                if words[0] == "L":
                    launches.append(_launch(words))
                    continue
                row, has_bytes = _contents(words)
                last = launches[-1]
            except (IndexError, ValueError):
                raise FormatError(f"{path}: no record of launches begins with {line!r}") from None
            key = row.is_svm, row.number, row.sum
            if has_bytes:
                places[key] = file.tell()
                file.seek(row.size, 1)
            contents = Contents(
                row.argument, row.is_svm, row.number, row.size, row.sum, places.get(key)
            )
            buffers = (*last.buffers, contents)
            launches[-1] = Launch(last.number, last.kernel, last.global_size, last.is_read, buffers)
    return launches


def _launch(words: list[str]) -> Launch:
    number, is_read, x, y, z = map(int, words[1:6])
    return Launch(number, words[6], (x, y, z), bool(is_read), ())


def _contents(words: list[str]) -> tuple[Contents, bool]:
    argument, is_svm, number, size = map(int, words[1:5])
    return Contents(argument, bool(is_svm), number, size, words[5], None), words[6] == "1"


Side = tuple[str, Path, list[Launch]]  # what it is called, its file, its launches


def first_difference(left: Side, right: Side, rtol: float = 0.0) -> str | None:
    """The first launch after which buffers differ, in words; None if there is none.

    With `rtol` a buffer is taken for floats where both sides are floats that lie so near.
    """
    for a, b in zip(left[2], right[2], strict=False):
        if (a.kernel, a.global_size) != (b.kernel, b.global_size):
            return (
                f"launch {a.number}: the program goes another way: {left[0]} has kernel"
                f" {a.kernel} of {a.global_size}, {right[0]} kernel {b.kernel} of {b.global_size}"
            )
        for mine, other in zip(a.buffers, b.buffers, strict=False):
            if mine.sum == other.sum and mine.size == other.size:
                continue
            words = _differ(left, right, mine, other, rtol)
            if words is not None:
                return f"{a}, {mine}: {words}"
    if len(left[2]) != len(right[2]):
        return f"{left[0]} has {len(left[2])} launches, {right[0]} has {len(right[2])}"
    return None


def _differ(left: Side, right: Side, a: Contents, b: Contents, rtol: float) -> str | None:
    if a.size != b.size:
        return f"{right[0]} has {b.size} bytes"
    if a.place is None or b.place is None:
        return f"{right[0]} has other bytes than {left[0]}"
    mine, other = _bytes(left[1], a), _bytes(right[1], b)
    if rtol and _is_near(mine, other, rtol):
        return None
    rows = list(_elements(mine, other))
    shown = "".join(f"\n  {row}" for row in rows[:_SHOWN])
    count = int((mine != other).sum())
    return f"{count} bytes differ between {left[0]} and {right[0]}{shown}"


def _bytes(path: Path, contents: Contents) -> NDArray[np.uint8]:
    with path.open("rb") as file:
        file.seek(contents.place or 0)
        return np.frombuffer(file.read(contents.size), np.uint8)


def _is_near(a: NDArray[np.uint8], b: NDArray[np.uint8], rtol: float) -> bool:
    """Whether all bytes are equal, but for floats that lie near each other."""
    whole = len(a) // 4 * 4
    x, y = a[:whole].view(np.float32), b[:whole].view(np.float32)
    with np.errstate(all="ignore"):
        near = np.isclose(x, y, rtol=rtol, atol=0.0, equal_nan=True)
    same = a[:whole].view(np.uint32) == b[:whole].view(np.uint32)
    return bool((near | same).all()) and bool((a[whole:] == b[whole:]).all())


def _elements(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> Iterator[str]:
    """The dwords that differ, as numbers and as floats."""
    whole = len(a) // 4 * 4
    x, y = a[:whole].view(np.uint32), b[:whole].view(np.uint32)
    for k in np.flatnonzero(x != y):
        left, right = x[k], y[k]
        floats = f"{left.view(np.float32):g} and {right.view(np.float32):g} as floats"
        yield f"byte {4 * k}: {left:#010x} and {right:#010x} ({floats})"
    for k in whole + np.flatnonzero(a[whole:] != b[whole:]):
        yield f"byte {k}: {a[k]:#04x} and {b[k]:#04x}"
