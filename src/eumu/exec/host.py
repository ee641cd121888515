"""What an engine needs from the device around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eumu.errors import ArrayPlace, InternalError
from eumu.exec.grid import Grid, RunStats
from eumu.exec.observe import Observer
from eumu.exec.snapshot import Preemption, Snapshot
from eumu.ir import Op
from eumu.records import dataclass

# What a host's method `message` is: record, threads, mask, arguments to results.
#
# The operation `message` of several threads at once: `threads` are their numbers in the launch
# (group * threads of a group + thread), int[count]; mask is bool[count, lanes], each argument
# [count, its lanes] in the NumPy type of its element, read-only; so are the results, which may also
# have one row for all threads.  Calls come one at a time, from any thread of the process.
Answer = Callable[
    [Any, NDArray[np.intp], NDArray[np.bool_], Sequence[NDArray[Any]]], Iterable[NDArray[Any]]
]


@dataclass(frozen=True, slots=True)
class InlineCache:
    """Compiled code that may answer requests of one `message` operation, for the fast engine.

    At the address `record` is a pointer to ``i32 function(record, data)``, then one to the next
    record, which the engine sets and the function calls if the request is for other states than
    those that it was made for.  `data` has the arrays as the host said they lie (see
    :class:`Places`).  0 says that it has answered, 1 that no record is for the request, 2 that the
    host is to be asked.  `keep` keeps all that alive.
    """

    record: int
    keep: object


@dataclass(frozen=True, slots=True)
class Places:
    """Where the arrays of a message lie in its data: byte offsets, the mask first."""

    arguments: tuple[int, ...]
    results: tuple[int, ...]


# What a host's method `inline_cache` is.
InlineCacheMaker = Callable[[Any, Sequence[NDArray[Any]], Places], InlineCache | None]


class Refusal(Exception):
    """A host cannot do what a message asks for: a fault of the thread in that row of the request.

    `lanes` are those of the operation.
    """

    def __init__(
        self,
        reason: str,
        *,
        row: int = 0,
        lanes: Sequence[int] = (),
        address: int | None = None,
        notes: Sequence[str] = (),
        code: str = "message",
        memory: ArrayPlace | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.row, self.address = reason, row, address
        self.code, self.memory = code, memory
        self.lanes = np.array(lanes, np.intp)
        self.notes = tuple(notes)


def fitting(op: Op, arrays: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """A host's results, if they are what the operation has."""
    listed = list(arrays)
    if len(listed) != len(op.results):
        raise InternalError(f"{len(listed)} results of a message that has {len(op.results)}")
    for x, value in zip(listed, op.results, strict=True):
        if x.ndim != 2 or x.shape[1] not in (1, value.width) or x.dtype != value.type.dtype:
            raise InternalError(
                f"a message's result {value.type} x {value.width} is {x.dtype} of shape {x.shape}"
            )
        yield x


class Host(Protocol):
    """Device memory as the engines see it.

    `arena` holds every byte of device memory; device address a is ``arena[a - base]``.  An access
    is legal when it lies within one live allocation; `extents` lists them as two sorted uint64
    arrays of equal length, starts and (exclusive) ends, and does not change during a run.  The
    arena has at least 64 readable bytes after the last extent.

    `progress` is called with the groups that are done and all groups, now and then, from any
    thread; None if nobody asks.  `observer` looks at runs on the interpreter.

    A host with an attribute `restricted` says by their starts to which extents kernels may not do
    all: "r" or "w".  A host with a method `message` (an :data:`Answer`) does what `message`
    operations ask for.  It may have a method `inline_cache` too, which is asked first when no
    earlier one was for a request: record, arguments and :class:`Places` to an :class:`InlineCache`
    of its own or None.
    """

    arena: NDArray[np.uint8]
    base: int
    progress: Callable[[int, int], object] | None
    observer: Observer | None

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...

    def describe(self, address: int) -> str:
        """The allocation nearest to an address, in words, for fault reports."""
        ...

    def printed(self, text: str) -> None:
        """Kernel output, in order."""
        ...


class Again(Protocol):
    """One grid that ran on an engine just now, to run once more in memory as it was then."""

    def run(self, stop: Preemption) -> RunStats | None:
        """What was counted; None if nothing has run, and the engine's `run` is to be asked.

        Raises what `run` raises.
        """
        ...


class Engine(Protocol):
    """Runs a grid, or what a snapshot leaves of it; raises `Fault`, or `Preempted` where `stop`
    stops it.

    It may have a method `again`: a grid and a host to an :class:`Again` or None.
    """

    name: str

    def run(
        self,
        grid: Grid,
        host: Host,
        snapshot: Snapshot | None = None,
        stop: Preemption | None = None,
    ) -> RunStats: ...
