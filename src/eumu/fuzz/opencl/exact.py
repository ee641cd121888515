"""Floats that are whole numbers small enough for their type: every operation on them is exact."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

_MOST: Final = {"half": 1 << 11, "float": 1 << 24, "double": 1 << 53}
_SUFFIX: Final = {"half": "h", "float": "f", "double": ""}
_LEAVES: Final = {"half": 5, "float": 10, "double": 20}  # bits of a number that comes from outside


class Exact:
    """Writes expressions of floats; `number` writes a value of type uint."""

    def __init__(
        self, random: Random, features: frozenset[str], number: Callable[[int], str]
    ) -> None:
        self.random, self.number = random, number
        self.types = ("float", *sorted(features & {"half", "double"}))

    def integer(self, depth: int) -> str:
        """A value of type int."""
        type = self.random.choice(self.types)
        if self.random.random() < 0.2:
            a, b = (self._of(type, depth)[0] for _ in "ab")
            return f"(int)({a} {self.random.choice(('<', '>=', '=='))} {b})"
        text, most = self._of(type, depth)
        if most >= 1 << 31:
            text = f"fmax(fmin({text}, 1073741824.0), -1073741824.0)"
        return f"convert_int({text})"

    def _of(self, type: str, depth: int) -> tuple[str, int]:
        """An expression and a bound of its magnitude."""
        if depth <= 0:
            return self._leaf(type)
        (a, x), (b, y) = self._of(type, depth - 1), self._of(type, depth - 2)
        sign = self.random.choice("+-*<>|/")
        if sign in "+-" and x + y <= _MOST[type]:
            return f"({a} {sign} {b})", x + y
        if sign == "*" and x * y <= _MOST[type]:
            return f"({a} * {b})", x * y
        if sign == "/":
            return f"floor({a} * 0.25{_SUFFIX[type]})", x // 4 + 1
        if sign == "|":
            return f"fabs({a})", x
        return f"{self.random.choice(('fmin', 'fmax'))}({a}, {b})", max(x, y)

    def _leaf(self, type: str) -> tuple[str, int]:
        bits = _LEAVES[type]
        half = 1 << (bits - 1)
        return f"convert_{type}((int)({self.number(1)} & {2 * half - 1:#x}) - {half})", half
