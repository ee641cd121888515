"""The records of a kernel test: what is launched, with which arguments, and what must come out.

Nothing here knows an implementation of OpenCL; `test_kernels.py` and `test_pocl.py` run the cases.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Size = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A pointer argument; `array` is what the buffer holds before the launch."""

    array: Array


@dataclass(frozen=True, slots=True)
class Local:
    """A `__local` pointer argument."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class Value:
    """An argument by value: a NumPy scalar, a vector as a one-dimensional array, or `np.void`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Output:
    """What buffer argument number `argument` must hold after the launch.

    Without tolerance values must be equal (NaN equals NaN), with `bits` also the sign of zero.
    `rtol` and `atol` broadcast against `want`. With `rows`, row r of the two-dimensional `want`
    is the operation `rows[r]`. `unordered` compares sorted values. Where the code that Intel's
    compiler made is wrong, `compiled` is what it computes; everybody else must give `want`.
    `compiled_now` is what the code of its newest release computes, if that differs.
    """

    argument: int
    want: Array
    rtol: float | Array = 0.0
    atol: float | Array = 0.0
    rows: tuple[str, ...] = ()
    bits: bool = False
    unordered: bool = False
    compiled: Array | None = None
    compiled_now: Array | None = None

    def as_compiled(self, *, newest: bool = False) -> Output:
        """What the compiler's own code gives, of the release of 2022 or of the newest."""
        found = self.compiled
        if newest and self.compiled_now is not None:
            found = self.compiled_now
        return self if found is None else replace(self, want=found)

    def mismatch(self, got: Array) -> str:
        """The first wrong element in words, or an empty string."""
        got = got.reshape(-1)[: self.want.size].reshape(self.want.shape)
        if self.unordered:
            got = np.sort(got)
        bad = ~self._right(got)
        if not bad.any():
            return ""
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f"{self.rows[place[0]]}, element {place[1]}" if self.rows else f"element {place}"
        rows = sorted({self.rows[int(r)] for r in np.argwhere(bad)[:, 0]}) if self.rows else []
        return (
            f"argument {self.argument}, {where}: got {got[place]!r}, want {self.want[place]!r}"
            f" ({int(bad.sum())} of {bad.size} elements wrong{' in ' if rows else ''}"
            f"{'; '.join(rows)})"
        )

    def _right(self, got: Array) -> Array:
        want = self.want
        if got.dtype.kind not in "fc":
            return np.asarray(got == want)
        with np.errstate(all="ignore"):
            g, w = got.astype(np.float64), want.astype(np.float64)
            close = np.abs(g - w) <= self.atol + self.rtol * np.abs(w)
        right = (g == w) | (np.isnan(g) & np.isnan(w)) | (close & np.isfinite(w))
        if self.bits:
            right &= (np.signbit(g) == np.signbit(w)) | np.isnan(w)
        return right


@dataclass(frozen=True, slots=True)
class Setup:
    """The arguments of one launch and all that is to be seen afterwards."""

    args: tuple[Buffer | Local | Value, ...] = ()
    outputs: tuple[Output, ...] = ()
    prints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One launch of one kernel of one program of `build.PROGRAMS`."""

    program: str
    kernel: str
    global_size: Size
    local_size: Size
    make: Callable[[Case], Setup]
    variant: str = ""

    @property
    def id(self) -> str:
        """A name for test reports."""
        names = [self.program, *([self.kernel] if self.kernel != self.program else [])]
        return "-".join([*names, *([self.variant] if self.variant else [])])

    @property
    def n(self) -> int:
        """The number of work-items."""
        return math.prod(self.global_size)

    @property
    def groups(self) -> int:
        """The number of work-groups."""
        return self.n // math.prod(self.local_size)

    def rng(self) -> np.random.Generator:
        """Random numbers that are the same in every run."""
        return np.random.default_rng(zlib.crc32(self.id.encode()))
