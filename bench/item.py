"""What an item of the benchmark is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_PLACES = (ROOT / "bench" / "kernels", ROOT / "examples", ROOT / "tests" / "kernels")
_BINARIES = (ROOT / "bench" / "kernels" / "bin", ROOT / "tests" / "kernels" / "bin" / "pvc")

Array = np.ndarray[Any, Any]
Data = dict[str, Any]
Size = tuple[int, ...]
# What was computed and what must come out.
Pairs = Iterable[tuple[Array, Array]]


@dataclass(frozen=True, slots=True)
class LocalBytes:
    """A `__local` pointer argument."""

    size: int


@dataclass(frozen=True, slots=True)
class Step:
    """One launch; `args` are names of the item's data."""

    kernel: str
    global_size: Size
    local_size: Size
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """Launches that are timed together.

    `data` makes the arguments by name, `check` compares them before and after one run with NumPy.
    `flops` and `bytes` are what the algorithm needs at least, for the roofline: operations on
    floats, and bytes that come from or go to memory once.  `small` is the item at the size for the
    slow engines.
    """

    name: str
    program: str
    data: Callable[[np.random.Generator], Data]
    steps: tuple[Step, ...]
    check: Callable[[Data, Data], Pairs]
    flops: float = 0
    bytes: float = 0
    small: Callable[[], Item] | None = None
    rtol: float = 1e-4
    source_options: str = ""
    source_name: str = ""

    @property
    def source(self) -> Path:
        name = f"{self.source_name or self.program}.cl"
        return next(p for d in _PLACES if (p := d / name).exists())

    @property
    def binary(self) -> Path:
        return next(p for d in _BINARIES if (p := d / f"{self.program}.bin").exists())

    @property
    def work_items(self) -> int:
        """The most of one launch."""
        return max(int(np.prod(s.global_size)) for s in self.steps)

    def mismatch(self, before: Data, after: Data) -> str:
        """What is wrong after one run, in words, or an empty string."""
        for got, want in self.check(before, after):
            got = got.reshape(-1).astype(np.float64)
            want = np.asarray(want).reshape(-1).astype(np.float64)
            exact = self.rtol == 0
            scale = 0 if exact else self.rtol * float(np.abs(want).max(initial=1e-30))
            bad = ~(np.abs(got - want) <= scale)
            if bad.any():
                place = int(bad.argmax())
                return f"{bad.sum()} of {bad.size} wrong, [{place}]: {got[place]}, {want[place]}"
        return ""


def floats(random: np.random.Generator, *shape: int) -> Array:
    return random.random(shape, np.float32)
