"""Float operations that round to nearest even, whatever %cr0 says.

A math instruction has one result for an operand: its rounding is its own, and the rounding mode
of the thread only governs ordinary arithmetic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from eumu.errors import InternalError
from eumu.ir import Builder, Rounding, Value
from eumu.types import BF, HF, F, Type

RNE = Rounding.RNE

_Function = TypeVar("_Function", bound=Callable[..., Value])


class Nearest:
    """Operations on vectors of one float type and width; numbers stand for lane constants."""

    def __init__(self, b: Builder, type: Type, width: int) -> None:
        self.b = b
        self.type = type
        self.width = width

    def value(self, x: Value | float) -> Value:
        """The operand itself, or the constant in every lane."""
        return x if isinstance(x, Value) else self.b.const(self.type, float(x), self.width)

    def integer(self, type: Type, x: int) -> Value:
        """An integer (or bit pattern) in every lane."""
        return self.b.const(type, x, self.width)

    def add(self, x: Value | float, y: Value | float) -> Value:
        return self.b.add(self.value(x), self.value(y), RNE)

    def sub(self, x: Value | float, y: Value | float) -> Value:
        return self.b.sub(self.value(x), self.value(y), RNE)

    def mul(self, x: Value | float, y: Value | float) -> Value:
        return self.b.mul(self.value(x), self.value(y), RNE)

    def div(self, x: Value | float, y: Value | float) -> Value:
        return self.b.div(self.value(x), self.value(y), RNE)

    def fma(self, x: Value | float, y: Value | float, z: Value | float) -> Value:
        return self.b.fma(self.value(x), self.value(y), self.value(z), RNE)

    def sqrt(self, x: Value) -> Value:
        return self.b.sqrt(x, RNE)

    def cmp(self, rel: str, x: Value | float, y: Value | float) -> Value:
        return self.b.cmp(rel, self.value(x), self.value(y))

    def select(self, mask: Value, x: Value | float, y: Value | float) -> Value:
        return self.b.select(mask, self.value(x), self.value(y))

    def convert(self, x: Value) -> Value:
        """`x`, of any type, as this one."""
        return self.b.convert(x, self.type, rounding=RNE)

    def at_most(self, x: Value, limit: float) -> Value:
        """The lesser of both; a NaN stays, which `min` would replace."""
        return self.select(self.cmp("gt", x, limit), limit, x)

    def at_least(self, x: Value, limit: float) -> Value:
        """The greater of both; a NaN stays."""
        return self.select(self.cmp("lt", x, limit), limit, x)

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Horner's rule with fused steps; `coefficients` from the constant one upward."""
        result = self.value(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result


def natively(*types: Type) -> Callable[[_Function], _Function]:
    """Let a function of vectors of one of `types` (F among them) take HF and BF too.

    These are computed as F and rounded once, at the end.
    """

    def decorate(compute: _Function) -> _Function:
        @functools.wraps(compute)
        def function(b: Builder, *args: Value) -> Value:
            (only, *others) = {x.type for x in args}
            if only in types and not others:
                return compute(b, *args)
            if only not in (HF, BF) or others:
                raise InternalError(f"IR math function {compute.__name__}: {args}")
            wide = [b.convert(x, F, rounding=RNE) for x in args]
            return b.convert(compute(b, *wide), only, rounding=RNE)

        return cast(_Function, function)

    return decorate
