"""What makes two launches the same: a key for arguments, and grids kept by it.

A loop launches a kernel many times with the same arrays; checking and laying out its arguments
takes longer than a small grid runs.
"""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from eumu.exec.grid import Grid
from eumu.runtime.array import Array, Local
from eumu.runtime.board import Board

_KEPT: Final = 64  # grids of a kernel on one device


def argument_key(values: Sequence[Any]) -> tuple[Hashable, ...] | None:
    """Equal for arguments that a kernel is given alike; None if some argument may change itself."""
    keys: list[Hashable] = []
    for value in values:
        make = _KEYS.get(type(value))
        if make is not None:
            keys.append(make(value))
        elif isinstance(value, np.number):
            keys.append((value.dtype, value.tobytes()))
        else:
            return None
    return tuple(keys)


# Images and samplers have none: each launch has tables of its own, and their heap is small.
# 0.0 equals -0.0 and True equals 1, so keys are the bits and the type.
_KEYS: Final[dict[type, Callable[[Any], Hashable]]] = {
    Array: lambda a: (a.address, a.shape, a.dtype),
    Local: lambda a: a,
    type(None): lambda a: None,
    int: lambda a: (int, a),
    bool: lambda a: (bool, a),
    float: lambda a: struct.pack("<d", a),
    bytes: lambda a: (bytes, a),
}


class Grids:
    """The grids of one kernel's latest launches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: WeakKeyDictionary[Board, OrderedDict[Hashable, Grid]] = WeakKeyDictionary()

    def get(self, device: Board, key: Hashable | None, make: Callable[[], Grid]) -> Grid:
        """The grid of a key, made now if it is new; a key of None is always new."""
        if key is None:
            return make()
        try:
            hash(key)
        except TypeError:  # sizes as a list
            return make()
        with self._lock:
            kept = self._kept.get(device)
            if kept is None:
                kept = self._kept[device] = OrderedDict()
            known = kept.get(key)
            if known is not None:
                kept.move_to_end(key)
                return known
        grid = make()
        with self._lock:
            kept[key] = grid
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        return grid
