"""The operands on which the error bounds of the math functions are measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.types import DF, HF, F, Type

Array = NDArray[Any]
_BITS = {HF: np.uint16, F: np.uint32, DF: np.uint64}


def stratified(type: Type, low: float, high: float, count: int, seed: int) -> Array:
    """`count` numbers, low <= x < high, low >= 0: one from each of equal ranges of bit patterns."""
    first, end = (int(type.dtype.type(x).view(_BITS[type])) for x in (low, high))
    edges = np.linspace(first, end, count + 1)
    jitter = np.random.default_rng(seed).random(count)
    bits = (edges[:-1] + jitter * np.diff(edges)).astype(_BITS[type])
    return np.clip(bits, _BITS[type](first), _BITS[type](end - 1)).view(type.dtype)


def boundaries(type: Type, reach: int = 2) -> Array:
    """Every power of two of the type, denormals included, and its neighbours, of both signs."""
    info = np.finfo(type.dtype)
    tiny, bits = int(info.nmant), _BITS[type]
    normal = np.arange(1, 2**info.nexp - 1, dtype=bits) << bits(tiny)
    powers = np.concatenate([normal, bits(1) << np.arange(tiny, dtype=bits)])
    near = np.unique(np.concatenate([powers + bits(d) for d in range(reach + 1)]
                                    + [powers - bits(d) for d in range(reach + 1)]))  # fmt: skip
    finite = near.view(type.dtype)
    finite = finite[np.isfinite(finite)]
    return np.concatenate([finite, -finite])


def every(type: Type) -> Array:
    """Every number of HF, infinities and NaN included."""
    return np.arange(2**type.bits, dtype=_BITS[type]).view(type.dtype)


def _signed(x: Array) -> Array:
    return np.concatenate([x, -x])


# name: the ranges of |x| that get the operands, and whether negative ones are of interest
_RANGES: dict[str, tuple[tuple[tuple[float, float], ...], bool]] = {
    "cos": (((0.0, 2.0**17), (0.25, 2.0**17)), False),
    "exp2": (((0.0, 152.0), (2.0**-6, 152.0)), True),
    "inv": (((0.0, np.inf),), True),
    "log2": (((0.0, np.inf), (0.5, 2.0)), False),
    "rsqrt": (((0.0, np.inf), (0.5, 2.0)), False),
    "sigmoid": (((0.0, 105.0), (2.0**-6, 105.0)), True),
    "sin": (((0.0, 2.0**17), (0.25, 2.0**17)), True),
    "sqrt": (((0.0, np.inf),), False),
    "tanh": (((0.0, 20.0), (2.0**-8, 10.0)), True),
}


def operands(name: str, type: Type, count: int, seed: int = 0) -> tuple[Array, ...]:
    """About `count` operands (or pairs) of function `name`, where its result is not trivial."""
    if name == "pow":
        return _power_operands(type, count, seed)
    if name == "divide":
        x, y = (stratified(type, 0.0, np.inf, count, seed + k) for k in (0, 1))
        return x, np.random.default_rng(seed).permutation(y)
    if type is HF:
        return (every(HF),)
    ranges, negative = _RANGES[name]
    share = count // len(ranges) // (1 + negative)
    parts = [stratified(type, *r, share, seed + k) for k, r in enumerate(ranges)]
    near = boundaries(type)
    if name in ("sin", "cos"):
        near = near[np.abs(near) <= 2.0**17]
    x = np.concatenate(parts)
    return (np.concatenate([_signed(x) if negative else x, near]),)


def _power_operands(type: Type, count: int, seed: int) -> tuple[Array, ...]:
    """Bases of all sizes, and exponents that make results of all sizes."""
    random = np.random.default_rng(seed)
    base = np.concatenate(
        [stratified(type, *r, count // 2, seed) for r in ((0.0, np.inf), (0.5, 2.0))]
    )
    least, most = (-26.0, 17.0) if type is HF else (-152.0, 130.0)
    with np.errstate(all="ignore"):
        exponent = random.uniform(least, most, len(base)) / np.log2(base.astype(np.float64))
        exponent = exponent.astype(type.dtype)
    keep = np.isfinite(exponent)
    return base[keep], exponent[keep]
