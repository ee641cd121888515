"""Sums of products of small elements: the operation `dot`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp import floats
from eumu.exec.interp.values import Lanes, wide
from eumu.ir import Rounding
from eumu.ir.operations.arithmetic import Dot
from eumu.types import BF, Type


def dot(op: Dot) -> Callable[[Lanes, Lanes, Lanes], Lanes]:
    """The function from x, b and a, each [1 or threads, its width], to the sums."""
    x, b, a = op.args
    shape = _Shape(x.width, b.width, a.width, op.rows, op.group)
    if not x.type.is_float:
        return partial(_integers, shape)
    return partial(_floats, shape, b.type, a.type)


class _Shape:
    """Sizes of the three matrices; `own` says that every column has its own a."""

    def __init__(self, x: int, b: int, a: int, rows: int, group: int) -> None:
        self.x, self.b, self.a = x, b, a
        self.rows, self.columns, self.group = rows, x // rows, group
        self.depth = b // (self.columns * group)
        self.own = a != rows * self.depth * group

    def sums(self, x: Lanes) -> NDArray[Any]:
        """[threads, rows, columns]"""
        return wide(x, self.x).reshape(-1, self.rows, self.columns)

    def right(self, b: Lanes) -> NDArray[Any]:
        """[threads, 1, depth, columns, group]"""
        return wide(b, self.b).reshape(-1, 1, self.depth, self.columns, self.group)

    def left(self, a: Lanes) -> NDArray[Any]:
        """[threads, rows, depth, columns or 1, group]"""
        columns = self.columns if self.own else 1
        return wide(a, self.a).reshape(-1, self.rows, self.depth, columns, self.group)


def _integers(shape: _Shape, x: Lanes, b: Lanes, a: Lanes) -> Lanes:
    total = shape.sums(x).astype(np.int32)  # from ud modulo 2**32
    right, left = shape.right(b).astype(np.int32), shape.left(a).astype(np.int32)
    for d in range(shape.depth):
        total = total + (right[:, :, d] * left[:, :, d]).sum(axis=-1, dtype=np.int32)
    return total.reshape(-1, shape.x).view(x.dtype)


def _floats(shape: _Shape, of_b: Type, of_a: Type, x: Lanes, b: Lanes, a: Lanes) -> Lanes:
    total = shape.sums(x)
    right, left = _singles(shape.right(b), of_b), _singles(shape.left(a), of_a)
    for d in range(shape.depth):
        for j in range(shape.group):
            total = floats.fma(right[:, :, d, :, j], left[:, :, d, :, j], total, Rounding.RNE)
    return total.reshape(-1, shape.x)


def _singles(x: NDArray[Any], type: Type) -> NDArray[np.float32]:
    return floats.from_bf16(x) if type is BF else x.astype(np.float32)
