"""A kernel of a source on a device, and the ways in which it is launched."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.runtime.parameters import Passing
from public_kernels.arguments import Way, element, values
from public_kernels.races import Races
from public_kernels.sources import Text

FUEL = 100_000
ORDERED = {"threads", "atomics"}  # conflicts in which the order of threads shows
_ROOMY = 1 << 22  # bytes of a buffer, where less is too little


@dataclass(frozen=True, slots=True)
class Task:
    """A source for a device; `fast` asks for the compiled engine beside the interpreter.

    In the folder `kept` is what other devices' tasks made of the source, and need not do again.
    """

    source: Text
    device: str
    options: str = ""
    others: bool = False
    fast: bool = True
    kept: Path | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What a launch left: arrays and images of their own types, or how it ended."""

    memory: tuple[NDArray[Any], ...] = ()
    ending: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of a task's program and the way in which it is launched."""

    task: Task
    program: eumu.Program
    kernel: eumu.Kernel
    way: Way
    seen: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # conflicts, of parts too

    def launch(self, level: str, engine: str, observer: Any = None) -> Run:
        """One launch on a device of its own."""
        kernel = self.program[self.kernel.name]
        device = eumu.Device(self.task.device, engine, sink=lambda text: None)
        device.observer = observer
        try:
            given = values(device, kernel, self.way)
            sizes = self.way.global_size, self.way.local_size
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                report = kernel.launch(device, *sizes, given, level=level, fuel=FUEL)
        except eumu.Fault as error:
            return Run(ending="fault", detail=str(error).splitlines()[0])
        except eumu.Unsupported as error:
            return Run(ending="Unsupported", detail=str(error))
        except eumu.EumuError as error:
            return Run(ending=type(error).__name__, detail=str(error))
        if observer is None and report.engine != engine:
            return Run(ending="not compiled", detail=" ".join(str(w.message) for w in told))
        kept = [v for v in given if isinstance(v, (eumu.Array, eumu.Image))]
        return Run(tuple(np.ascontiguousarray(v.numpy()).reshape(-1).copy() for v in kept))

    def structures(self) -> list[bool]:
        """Whether the elements of each array or image that a launch leaves are structures."""
        kinds = {Passing.BUFFER, Passing.IMAGE}
        kept = [p for p in self.kernel.args if p.passing in kinds]
        return [p.passing is Passing.BUFFER and element(p, self.way) is None for p in kept]


def ways(task: Task, kernel: eumu.Kernel, options: str) -> Iterator[Way]:
    """Ways to launch a kernel; a later one is for kernels that reach out of what they get."""
    sizes = task.source.sizes(kernel.name)
    if needed := kernel.required_local_size:
        sizes = (needed[0] * 2, *needed[1:]), needed
    first = Way(*sizes, task.source.types(options))
    yield first
    yield replace(first, nbytes=_ROOMY, number=64)
    yield replace(first, nbytes=_ROOMY, number=1)


def smaller(kernel: eumu.Kernel, way: Way) -> Iterator[tuple[str, Way]]:
    """Launches of one group, and of one thread, in which less races."""
    if way.global_size != way.local_size:
        yield "group", replace(way, global_size=way.local_size)
    if kernel.required_local_size is None:
        size = (max(kernel.simd_width, 1),)
        yield "thread", replace(way, global_size=size, local_size=size)


def conflicts(case: Case, level: str) -> set[str]:
    """What `Races` finds in a launch."""
    key = level, str(case.way)
    if key not in case.seen:
        races = Races()
        case.launch(level, "interp", races)
        case.seen[key] = races.found
    return case.seen[key]


def keep(task: Task, what: str, make: Callable[[], Any], *, again: bool = False) -> Any:
    """What `make` returns, or what it returned for another device."""
    if task.kept is None:
        return make()
    file = task.kept / sha256(f"{task.source.path} {what}".encode()).hexdigest()
    if file.exists() and not again:
        return pickle.loads(file.read_bytes())
    made = make()
    file.write_bytes(pickle.dumps(made))
    return made
