"""Computes the table in :mod:`eumu.isa.mathlib.coefficients`: ``python -m eumu.isa.mathlib.fit``.

Each entry is a weighted least-squares fit at Chebyshev points, within a small factor of the best
possible polynomial.  A coefficient is rounded to its type before the higher ones are fitted, so
that they absorb its rounding error.  The weight makes the error that of the whole function,
relative to its value.  Needs mpmath, as the tests do.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import mpmath  # type: ignore[import-untyped]

from eumu.records import dataclass

_DIGITS = 60
_QUARTER_PI_SQUARED = (0.0, 0.63)  # 0.008 beyond pi/4: the multiple is not exact
_LOG2_INTERVAL = (0.7071 - 1, 1.41422 - 1)

Function = Callable[[Any], Any]


def _as_f(x: Any) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(x)))[0])


@dataclass(frozen=True, slots=True)
class Fit:
    """`function` on [lo, hi] by a polynomial of `degree`, coefficients `rounded` to their type."""

    function: Function
    weight: Function
    lo: float
    hi: float
    degree: int
    rounded: Callable[[Any], float]

    def points(self) -> list[Any]:
        """Chebyshev points of the interval, four times as many as coefficients."""
        count = 4 * (self.degree + 1)
        cosines = [mpmath.cos(mpmath.pi * (k + mpmath.mpf(0.5)) / count) for k in range(count)]
        return [(self.lo + self.hi) / 2 + (self.hi - self.lo) / 2 * c for c in cosines]


def _value(coefficients: list[float], x: Any) -> Any:
    return sum((c * x**k for k, c in enumerate(coefficients)), mpmath.mpf(0))


def _log2_1p(x: Any) -> Any:
    return mpmath.log1p(x) / mpmath.log(2)


def _sinc(s: Any) -> Any:
    return mpmath.sin(mpmath.sqrt(s)) / mpmath.sqrt(s)


FITS = {
    "EXP2": Fit(lambda x: (2**x - 1) / x, lambda x: x / 2**x, -0.5, 0.5, 5, _as_f),
    "EXP2_DF": Fit(lambda x: (2**x - 1) / x, lambda x: x / 2**x, -0.5, 0.5, 5, float),
    "LOG2": Fit(lambda x: _log2_1p(x) / x, lambda x: x / _log2_1p(x), *_LOG2_INTERVAL, 9, _as_f),
    "LOG2_DF": Fit(
        lambda x: _log2_1p(x) / x, lambda x: x / _log2_1p(x), *_LOG2_INTERVAL, 12, float
    ),
    "SIN": Fit(
        lambda s: _sinc(s) / s - 1 / s, lambda s: s / _sinc(s), *_QUARTER_PI_SQUARED, 2, _as_f
    ),
    "COS": Fit(
        lambda s: (mpmath.cos(mpmath.sqrt(s)) - 1) / s,
        lambda s: s / mpmath.cos(mpmath.sqrt(s)),
        *_QUARTER_PI_SQUARED,
        3,
        _as_f,
    ),
    "EXPM1_TWICE": Fit(
        lambda x: (mpmath.expm1(2 * x) - 2 * x) / x**2,
        lambda x: x**2 / mpmath.expm1(2 * x),
        -0.175,
        0.175,
        4,
        _as_f,
    ),
}


# name: (constant, bits of every part but the last)
SPLITS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "HALF_PI": (lambda: mpmath.pi / 2, (24, 24)),
    "LOG2E": (lambda: 1 / mpmath.log(2), (24,)),
    "HALF_LN2": (lambda: mpmath.log(2) / 2, (18,)),
}


def fit(name: str) -> tuple[list[float], float]:
    """The coefficients from the constant one upward, and the greatest weighted error."""
    job = FITS[name]
    with mpmath.workdps(_DIGITS):
        points = job.points()
        weights = [job.weight(x) for x in points]
        wanted = [job.function(x) for x in points]
        coefficients: list[float] = []
        for first in range(job.degree + 1):
            powers = range(first, job.degree + 1)
            rest = [v - _value(coefficients, x) for x, v in zip(points, wanted, strict=True)]
            rows = mpmath.matrix(
                [[w * x**p for p in powers] for x, w in zip(points, weights, strict=True)]
            )
            right = mpmath.matrix([w * v for w, v in zip(weights, rest, strict=True)])
            coefficients.append(job.rounded(mpmath.lu_solve(rows, right)[0]))
        missing = [_value(coefficients, x) - v for x, v in zip(points, wanted, strict=True)]
        return coefficients, float(max(abs(w * d) for w, d in zip(weights, missing, strict=True)))


def split(name: str) -> list[float]:
    """Parts of a constant as F, each cut off after so many bits, the last one rounded."""
    function, sizes = SPLITS[name]
    with mpmath.workdps(_DIGITS):
        rest = function()
        parts = []
        for bits in sizes:
            step = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(rest), 2)) - bits + 1)
            parts.append(float(mpmath.floor(rest / step) * step))
            rest -= parts[-1]
        return [*parts, _as_f(rest)]


def table() -> str:
    """The Python text of every entry."""
    lines = []
    for name in SPLITS:
        lines += [f"{name} = _hex(", *(f'    "{c.hex()}",' for c in split(name)), ")"]
    for name in FITS:
        coefficients, error = fit(name)
        lines.append(f"{name} = _hex(  # relative error 2^{float(mpmath.log(error, 2)):.1f}")
        lines += [f'    "{c.hex()}",' for c in coefficients]
        lines.append(")")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
