"""Launches that come again with exactly the same arguments: little is looked at twice.

Arguments are told by identity.  What they are cannot change then, as they are arrays, whose places
cannot, or values of types that do not change.  Memory must be as it was, and so must all that a
device can be asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import Any, Final, Protocol
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from eumu.device import Memory
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Again
from eumu.records import dataclass
from eumu.runtime.array import Array, Local
from eumu.runtime.parameters import Parameter
from eumu.runtime.report import Report, of_another_run

Sizes = tuple[Any, Any]  # global and local

_KEPT: Final = 64  # launches of a device
_SEEN: Final = 256
_FIXED: Final = frozenset({int, float, bool, str, bytes, Local, type(None)})


class _Device(Protocol):
    """What this asks of a device."""

    memory: Memory

    @property
    def plain(self) -> Hashable: ...

    def again(self, grid: Grid) -> Again | None: ...


class _Kernel(Protocol):
    """What this asks of a kernel."""

    args: tuple[Parameter, ...]


def are_usual(offset: Any, seed: Any) -> bool:
    """Whether these are what they are if nothing is said."""
    return type(offset) is type(seed) is int and offset == seed == 0


def kinds_of(value: Any) -> Any:
    """The types of numbers in tuples: 64.0 equals 64, and is no size."""
    if type(value) is tuple:
        return tuple([kinds_of(n) for n in value])
    return type(value)


def key_of(kernel: object, level: str, sizes: Sizes, args: Sequence[Any]) -> tuple[Any, ...]:
    """Equal for launches with the same arguments; that of a size that is a list is no key."""
    return (id(kernel), level, sizes, *map(id, args))


def _are_alike(sizes: Sizes, others: Sizes) -> bool:
    """Whether equal sizes are of the same types."""
    for given, other in zip(sizes, others, strict=True):
        if type(given) is not type(other):
            return False
        if type(given) is tuple and [*map(type, given)] != [*map(type, other)]:
            return False
    return True


def told(key: Any) -> Hashable:
    """The key; None where sizes are a list, which may change."""
    try:
        hash(key)
    except TypeError:
        return None
    found: Hashable = key
    return found


@dataclass(slots=True)
class Exact:
    """One launch that may come again; it keeps neither its arrays nor its kernel alive."""

    again: Again
    grid: Grid
    kernel: ReferenceType[Any]
    sizes: Sizes
    plain: Hashable  # of the device; never None
    extents: NDArray[np.uint64]
    arrays: tuple[tuple[int, ReferenceType[Array], str], ...]  # place, array, what it is called
    values: tuple[Any, ...]  # the other arguments: as long as they are kept, ids are theirs
    renamed: int = -1  # how often memory had been renamed when the arrays got their names
    stats: RunStats | None = None  # what was counted last, and the fields of the report of that
    fields: dict[str, Any] = field(default_factory=dict)

    def is_for(self, kernel: object, sizes: Sizes, args: Sequence[Any], memory: Memory) -> bool:
        """Whether a launch with an equal key is this one, in memory that is as it was."""
        if self.kernel() is not kernel:
            return False
        (x, y), (given_x, given_y) = self.sizes, sizes
        if not (x is given_x and y is given_y) and not _are_alike(sizes, self.sizes):
            return False
        for place, array, _ in self.arrays:
            if args[place] is not array():
                return False
        renamed = memory.renamed_since(self.extents)
        if renamed != self.renamed and renamed >= 0:
            self._name(memory, args)
        return renamed >= 0

    def reported(
        self, stats: RunStats, seconds: float, make: Callable[[RunStats, str, float, str], Report]
    ) -> Report:
        """The report of a run of so many seconds, made anew if it counted something else."""
        if stats is not self.stats:
            self.stats, self.fields = stats, dict(vars(make(stats, "jit", seconds, "")))
        return of_another_run(self.fields, seconds)

    def _name(self, memory: Memory, args: Sequence[Any]) -> None:
        """Call arrays by their parameters."""
        for place, _, name in self.arrays:
            args[place].label(name)
        self.renamed = memory.renamed_since(self.extents)


class Latest:
    """The latest such launches on one device; its turn is held in all calls.

    Keys are those of `key_of`.
    """

    def __init__(self) -> None:
        self.kept: OrderedDict[Hashable, Exact] = OrderedDict()
        # Their arguments but for arrays: as long as they are here, ids are theirs.
        self._seen: OrderedDict[Hashable, list[Any]] = OrderedDict()

    def ended(
        self,
        key: Hashable,
        device: _Device,
        kernel: _Kernel,
        sizes: Sizes,
        args: Sequence[Any],
        grids: Sequence[Grid],
    ) -> None:
        """A launch ran: keep it if it came before, and its arguments cannot change."""
        if told(key) is None or len(grids) > 1:
            return
        if key not in self._seen:
            self._forget()
            self._seen[key] = [a for a in args if type(a) is not Array]
            if len(self._seen) > _SEEN:
                self._seen.popitem(last=False)
            return
        (grid,) = grids
        again = device.again(grid)
        if again is None:
            return
        arrays, values = [], []
        for place, (parameter, value) in enumerate(zip(kernel.args, args, strict=True)):
            if type(value) is Array:
                arrays.append((place, ref(value), parameter.name))
            elif type(value) in _FIXED or isinstance(value, (np.number, np.bool_)):
                values.append(value)
            else:
                return
        self.kept[key] = Exact(
            again,
            grid,
            ref(kernel),
            sizes,
            device.plain,
            device.memory.extents()[0],
            tuple(arrays),
            tuple(values),
        )
        self.kept.move_to_end(key)
        while len(self.kept) > _KEPT:
            self.kept.popitem(last=False)

    def _forget(self) -> None:
        """Let the launches of kernels go that are gone, with their functions."""
        for key in [key for key, kept in self.kept.items() if kept.kernel() is None]:
            del self.kept[key]
