"""Runs the math functions' IR on arrays, and knows what the results should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp import lanes
from eumu.ir import Block, Builder, Function, Op, Region, Root, RootKind, Value
from eumu.types import Type

Array = NDArray[Any]
MathFunction = Callable[..., Value]


def build(function: MathFunction, type: Type, arity: int, width: int) -> tuple[list[Op], Value]:
    """The operations on `arity` operands, which are the first ones (`read`), and the result."""
    block = Block("math")
    b = Builder(Function("math", 16, 32, blocks=[block]))
    b.block = block
    root = Root("operand", RootKind.GRF, type.size * width)
    operands = [b.read(root, Region.packed(0, type.size), type, width) for _ in range(arity)]
    return block.ops, function(b, *operands)


def evaluate(function: MathFunction, type: Type, *operands: Array) -> Array:
    """The function on arrays of `type`, as the interpreter computes its lanes."""
    ops, result = build(function, type, len(operands), len(operands[0]))
    values = {op.result: x[None, :] for op, x in zip(ops, operands, strict=False)}
    with np.errstate(all="ignore"):
        for op in ops[len(operands) :]:
            if op.name == "const":
                values[op.result] = lanes.constant(op)
            else:
                values[op.result] = lanes.compute(op)(*(values[x] for x in op.args))
    return values[result][0]


@dataclass(frozen=True, slots=True)
class Reference:
    """A function in float64 (much better than F needs) and in arbitrary precision."""

    double: Callable[..., Array]
    exact: Callable[..., Any]
    arity: int = 1


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1.0) / (1.0 + small)


REFERENCES = {
    "cos": Reference(np.cos, mpmath.cos),
    "divide": Reference(np.divide, lambda x, y: x / y, 2),
    "exp2": Reference(np.exp2, lambda x: mpmath.power(2, x)),
    "inv": Reference(np.reciprocal, lambda x: 1 / x),
    "log2": Reference(np.log2, lambda x: mpmath.log(x, 2)),
    "pow": Reference(np.power, mpmath.power, 2),
    "rsqrt": Reference(lambda x: 1 / np.sqrt(x), lambda x: 1 / mpmath.sqrt(x)),
    "sigmoid": Reference(_sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    "sin": Reference(np.sin, mpmath.sin),
    "sqrt": Reference(np.sqrt, mpmath.sqrt),
    "tanh": Reference(np.tanh, mpmath.tanh),
}


def distances(got: Array, exact: Array) -> Array:
    """|got - exact| in units in the last place of `exact`; 0 where it rounds to got's infinity.

    `exact` is float64, or an object array of mpmath numbers.  Lanes where just one is NaN, or got
    is a wrong infinity, are infinitely far.
    """
    info = np.finfo(got.dtype)
    wide = exact.astype(np.float64)
    exponent = np.frexp(np.maximum(np.abs(wide), float(info.smallest_normal)))[1] - 1
    unit = np.ldexp(1.0, exponent - info.nmant)
    with np.errstate(all="ignore"):
        difference = np.abs((got.astype(exact.dtype) - exact) / unit).astype(np.float64)
        same = (got == wide.astype(got.dtype)) & np.isinf(got)
    same |= np.isnan(got) & np.isnan(wide)
    return np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))
