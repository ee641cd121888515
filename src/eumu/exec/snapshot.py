"""A grid that was stopped in the middle: what its threads hold, and which groups are still to run.

Stopping happens between two blocks of a function, where no IR value is alive, so that all state is
in roots, waiting blocks, barriers and memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Preempted", "Preemption", "Snapshot"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The resident groups `first` … `first` + `groups` - 1 of a stopped grid.

    `threads` has one row of bytes for each of their threads, `slm` one for each group, both
    contiguous; `shared` is what belongs to no single thread (JSON).  Groups before `first` are
    done, those behind the resident ones have not begun.  `instructions` are those that the done
    groups ran.
    """

    first: int
    groups: int
    instructions: int
    threads: NDArray[np.uint8] = field(repr=False)
    slm: NDArray[np.uint8] = field(repr=False)
    shared: str = field(default="{}", repr=False)


class Preempted(Exception):
    """A run was stopped; the rest of it is in the snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__("preempted")
        self.snapshot = snapshot


@dataclass(slots=True)
class Preemption:
    """When a run is to stop: after so many instructions, or as soon as `wanted` says so.

    At most `resident` groups run at once, as on a chip; what they hold must fit the chip's image.
    """

    resident: int
    after: int | None = None
    wanted: Callable[[], bool] = lambda: False

    def stops(self, instructions: int) -> bool:
        """Whether a run that has issued so many instructions stops here."""
        return (self.after is not None and instructions >= self.after) or self.wanted()


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
        target[: len(data)] = piece.view(target.dtype).reshape(len(data), *target.shape[1:])
        at += size
    if at != data.shape[1]:
        raise ValueError(f"{data.shape[1]} bytes a thread; this function has {at}")


def _rows(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8)


def to_json(value: Any) -> str:
    """Compact, the same for the same value."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
