"""The forms of a kernel: which builds there are, and at which level each runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.compare.record import Recorder
from eumu.errors import BuildError

LEVELS: Final = ("visa", "native")
_OPTIONS: Final = (("-O2", ""), ("-O0", "-cl-opt-disable"))
_WIDTHS: Final = (None, 8, 16, 32)
# The compiler's own switch for the width of OpenCL kernels.
_FORCED_WIDTH: Final = "IGC_ForceOCLSIMDWidth"

Values = Callable[[eumu.Device, eumu.Kernel], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Launch:
    """What every form is given: sizes, and a function that makes the arguments on a device."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    values: Values
    fuel: int | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """One form: a program at a level."""

    label: str
    program: eumu.Program
    level: str

    def run(self, launch: Launch, thread: int | None = None) -> Outcome:
        """Run it on the interpreter, watched; with a `thread`, also the way that it goes."""
        assert self.program.platform is not None
        device = eumu.Device(self.program.platform, "interp", sink=lambda text: None)
        kernel = self.program[launch.kernel]
        values = launch.values(device, kernel)
        recorder = Recorder(device.memory, thread)
        device.observer = recorder
        try:
            kernel.launch(
                device,
                launch.global_size,
                launch.local_size,
                values,
                level=self.level,
                fuel=launch.fuel,
            )
        finally:
            device.observer = None
        arrays = {n: v for n, v in values.items() if isinstance(v, eumu.Array)}
        memory = {n: np.ascontiguousarray(a.numpy()) for n, a in arrays.items()}
        places = {n: a.address for n, a in arrays.items()}
        return Outcome(self, recorder, memory, places)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run left: the arrays, where they were, what was stored in which order."""

    side: Side
    record: Recorder = field(repr=False)
    memory: dict[str, NDArray[Any]]
    places: dict[str, int]


def sides(
    program: str | Path | bytes, device: str | None = None, options: str = ""
) -> Iterator[Side]:
    """The forms of a program, the one that the others are held against first.

    Of source (`.cl`) there are builds with and without optimization and with each SIMD width that
    the compiler can make of it; of an ELF file only the levels.
    """
    is_source = not isinstance(program, bytes) and str(program).endswith((".cl", ".spv"))
    if not is_source:
        yield from levels(eumu.load(program, device=device), "")
        return
    seen: set[tuple[bytes, ...]] = set()
    for name, more in _OPTIONS:
        for width in _WIDTHS:
            try:
                with _forced(width):
                    built = eumu.load(program, device=device or "apl", options=f"{options} {more}")
            except BuildError:
                if width is None:
                    raise
                continue  # the compiler does not make this kernel so wide
            code = tuple(k.text for k in built.elf.kernels) if built.elf else ()
            if code not in seen:
                seen.add(code)
                simd = f" SIMD{built.kernels[0].simd_width}" if built.kernels else ""
                yield from levels(built, f"{name}{simd} ")


def levels(program: eumu.Program, prefix: str, wanted: Sequence[str] = LEVELS) -> Iterator[Side]:
    """A program at each level."""
    return (Side(f"{prefix}{level}", program, level) for level in wanted)


@contextmanager
def _forced(width: int | None) -> Iterator[None]:
    if width is None:
        yield
        return
    before = os.environ.get(_FORCED_WIDTH)
    os.environ[_FORCED_WIDTH] = str(width)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_FORCED_WIDTH]
        else:
            os.environ[_FORCED_WIDTH] = before
