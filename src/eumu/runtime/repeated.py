"""Launches that come again: the same kernel, arrays and sizes, with the same or other numbers.

A loop launches a kernel many times; checking and laying out its arguments takes longer than a small
grid runs.  What comes again has its grid already: other numbers are put into their places.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final
from weakref import ReferenceType, ref

from eumu.device import Memory
from eumu.exec.grid import Grid
from eumu.records import dataclass
from eumu.runtime.array import Array, Local
from eumu.runtime.board import Board
from eumu.runtime.exact import kinds_of, told
from eumu.runtime.parameters import Parameter, Passing
from eumu.runtime.payload_layout import ValuePlace

Parts = tuple[Grid, ...]  # the grids of a launch

_KEPT: Final = 64  # launches of a kernel
_NUMBERS: Final = (Passing.VALUE, Passing.ADDRESS)


def argument_key(values: Sequence[Any]) -> tuple[Hashable, ...]:
    """Equal for arguments whose launches differ in numbers only."""
    return tuple([_KEYS.get(type(value), type)(value) for value in values])


_KEYS: Final[dict[type, Any]] = {
    Array: lambda a: a.is_freed or (a.address, a.shape, a.dtype),
    Local: lambda a: a,
}


def launch_key(device: Board, options: tuple[Any, ...], values: list[Any]) -> Hashable:
    """What launches have alike that differ in numbers only; None if they cannot be told."""
    return told((id(device.memory), options, kinds_of(options[0]), argument_key(values)))


@dataclass(slots=True)
class _Kept:
    """A launch that was: of memory as it was then, if its arrays are that memory's."""

    memory: ReferenceType[Memory]
    extents: object
    numbers: tuple[Parameter, ...]  # those that a launch brings
    places: tuple[ValuePlace, ...]
    named: tuple[Parameter, ...]  # arrays are called by them
    grids: Parts  # of the latest

    def again(self, values: Sequence[Any]) -> Parts:
        """The grids with numbers; ArgumentError for those that do not suit their parameters."""
        for parameter in self.named:
            values[parameter.index].label(parameter.name)
        encoded = {p.index: p.encode(values[p.index]) for p in self.numbers}
        self.grids = tuple([self._with(grid, encoded) for grid in self.grids])
        return self.grids

    def _with(self, grid: Grid, encoded: Mapping[int, bytes]) -> Grid:
        data = bytearray(grid.payload.cross_thread)
        for place in self.places:
            piece = encoded[place.index][place.start : place.start + place.size]
            data[place.offset : place.offset + len(piece)] = piece
        return grid if data == grid.payload.cross_thread else grid.with_data(bytes(data))


class Repeats:
    """The latest launches of one kernel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    def find(self, device: Board, key: Hashable, values: Sequence[Any]) -> Parts | None:
        """The grids of a launch of that key, None if there was none in memory as it is."""
        kept, memory = self._kept.get(key), device.memory
        if kept is None or kept.memory() is not memory or kept.extents is not memory.extents()[0]:
            return None
        if any([values[p.index].device is not device for p in kept.named]):
            return None
        return kept.again(values)

    def keep(
        self,
        device: Board,
        key: Hashable,
        parameters: Sequence[Parameter],
        values: Sequence[Any],
        places: Sequence[ValuePlace],
        grids: Parts,
    ) -> None:
        """Keep grids that have nothing of their own launch but `values`.

        With images or samplers, whose tables each launch makes, nothing is kept.
        """
        numbers, named = [], []
        for parameter, value in zip(parameters, values, strict=True):
            if isinstance(value, Array):
                named.append(parameter)
            elif parameter.passing in _NUMBERS:
                numbers.append(parameter)
            elif value is not None and not isinstance(value, Local):
                return
        if any(
            grid.payload.rows is not None for grid in grids
        ):  # each thread has its own copy of the numbers
            return
        memory = device.memory
        wanted = {p.index for p in numbers}
        mine = tuple(place for place in places if place.index in wanted)
        kept = _Kept(ref(memory), memory.extents()[0], tuple(numbers), mine, tuple(named), grids)
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
