"""A grid that was stopped in the middle: what its threads hold, and which groups are still to run.

Stopping happens between two blocks of a function, where no IR value is alive, so that all state is
in roots, waiting blocks, barriers and memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Finding
from eumu.exec.attempt import Attempt
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The resident groups `first` … `first` + `groups` - 1 of a stopped grid.

    `threads` has one row of bytes for each of their threads, `slm` one for each group, both
    contiguous; `shared` is what belongs to no single thread (JSON).  Groups before `first` are
    done, those behind the resident ones have not begun.  `instructions` are those that the done
    groups ran; `findings` is what a checked run has found so far.
    """

    first: int
    groups: int
    instructions: int
    threads: NDArray[np.uint8] = field(repr=False)
    slm: NDArray[np.uint8] = field(repr=False)
    shared: str = field(default="{}", repr=False)
    findings: tuple[Finding, ...] = ()


class Preempted(Exception):
    """A run was stopped on `engine`; the rest of it is in the snapshot."""

    def __init__(self, snapshot: Snapshot, engine: str) -> None:
        super().__init__("preempted")
        self.snapshot, self.engine = snapshot, engine


@dataclass(slots=True, eq=False, weakref_slot=True)
class Preemption:
    """When one run is to stop; another thread may stop it at any time.

    It stops between groups after `groups` of them, or when `stop` is called; in the middle of
    groups after `after` instructions.  Then at most `resident` groups run at once, as on a chip:
    what they hold must fit the chip's image.  With an `attempt`, the interpreter leaves groups that
    take too long, as if they had not begun.
    """

    resident: int = 0
    after: int | None = None
    groups: int | None = None
    attempt: Attempt | None = None
    is_wanted: bool = False
    _tell: Callable[[], object] | None = None

    def stop(self) -> None:
        """Stop the run as soon as it can be; from any thread."""
        self.is_wanted = True
        tell = self._tell
        if tell is not None:
            tell()

    def attach(self, tell: Callable[[], object] | None) -> None:
        """What `stop` calls from now on; at once if it was called before."""
        self._tell = tell
        if self.is_wanted and tell is not None:
            tell()

    def stops(self, instructions: int, groups: int = 0) -> bool:
        """Whether a run that has issued so many instructions and done so many groups stops here."""
        return (
            self.is_wanted
            or (self.after is not None and instructions >= self.after)
            or (self.groups is not None and groups >= self.groups)
        )


def between_groups(first: int, instructions: int, findings: tuple[Finding, ...] = ()) -> Snapshot:
    """A grid that was stopped where no group had begun that was not done."""
    nothing = np.zeros((0, 0), np.uint8)
    return Snapshot(first, 0, instructions, nothing, nothing, findings=findings)


def pack(arrays: dict[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Arrays with one row for each thread, side by side as bytes; in the order of their names."""
    rows = [_rows(arrays[name]) for name in sorted(arrays)]
    return np.ascontiguousarray(np.concatenate(rows, axis=1))


def unpack(data: NDArray[np.uint8], arrays: dict[str, NDArray[Any]]) -> None:
    """Fill the first rows of arrays with what `pack` made of arrays of the same types."""
    at = 0
    for name in sorted(arrays):
        target = arrays[name]
        size = target[:1].nbytes
        piece = np.ascontiguousarray(data[:, at : at + size])
        values = piece != 0 if target.dtype == bool else piece.view(target.dtype)
        target[: len(data)] = values.reshape(len(data), *target.shape[1:])
        at += size
    if at != data.shape[1]:
        raise ValueError(f"{data.shape[1]} bytes a thread; this function has {at}")


def _rows(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8)


def to_json(value: Any) -> str:
    """Compact, the same for the same value."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
