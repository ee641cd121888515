"""Rounding of every float operation against exact rationals (IEEE 754, vISA "Float control")."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.exec.interp import exact, floats
from eumu.ir import Rounding
from exec.rounding_oracle import DOUBLE, HALF, SINGLE, Format, rounded, square_root

MODES = [Rounding.RNE, Rounding.RU, Rounding.RD, Rounding.RTZ]
TYPES: list[tuple[type[np.floating[Any]], Format]] = [
    (np.float16, HALF),
    (np.float32, SINGLE),
    (np.float64, DOUBLE),
]
PAIRS = [pytest.param(t, f, id=t.__name__) for t, f in TYPES]
both = pytest.mark.parametrize(("dtype", "form"), PAIRS)
modes = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


def edges(dtype: type[np.floating[Any]]) -> list[float]:
    info = np.finfo(dtype)
    tiny, least, most = (float(x) for x in (info.tiny, info.smallest_subnormal, info.max))
    eps = float(info.eps)
    positive = [
        0.0, least, 2 * least, 3 * least, tiny - least, tiny, tiny + least, 2 * tiny,
        math.sqrt(tiny), eps / 2, eps, 1 / 3, 1 - eps / 2, 1.0, 1 + eps, 1 + 2 * eps, 1.5, 2.0, 3.0,
        5.0, 1 / eps, 2 / eps - 1, math.sqrt(most), most / 2, most * (1 - eps), most, math.inf,
    ]  # fmt: skip
    values = [float(dtype(x)) for x in positive]
    return values + [-x for x in values] + [math.nan]


def random_values(
    dtype: type[np.floating[Any]], count: int, generator: np.random.Generator
) -> NDArray[Any]:
    """Every bit pattern alike, so that all exponents occur."""
    size = np.dtype(dtype).itemsize
    return generator.integers(0, 256, (count, size), np.uint8).view(dtype)[:, 0]


def near_values(
    dtype: type[np.floating[Any]], count: int, generator: np.random.Generator
) -> NDArray[Any]:
    """Few significant bits and near exponents: ties, cancellation and exact results."""
    whole = generator.integers(-64, 65, count).astype(np.float64)
    return (whole * 2.0 ** generator.integers(-8, 8, count)).astype(dtype)


def operands(
    dtype: type[np.floating[Any]], arity: int, seed: int
) -> list[NDArray[np.floating[Any]]]:
    generator = np.random.default_rng(seed)
    corner = np.array(edges(dtype), dtype)
    mixed = np.r_[corner, random_values(dtype, 60, generator)]
    parts = [
        [generator.choice(corner, 300) for _ in range(arity)],
        [random_values(dtype, 80, generator) for _ in range(arity)],
        [near_values(dtype, 80, generator) for _ in range(arity)],
        [generator.choice(mixed, 150) for _ in range(arity)],
    ]
    return [np.concatenate([p[k] for p in parts])[None, :] for k in range(arity)]


def listed(x: NDArray[Any]) -> list[float]:
    with np.errstate(all="ignore"):  # a signalling NaN warns
        return x.reshape(-1).astype(np.float64).tolist()


def same(got: float, want: float) -> bool:
    if math.isnan(want):
        return math.isnan(got)
    return got == want and math.copysign(1, got) == math.copysign(1, want)


def compare(
    operation: Callable[..., Any],
    expected: Callable[..., float],
    args: list[NDArray[Any]],
    mode: Rounding,
) -> None:
    with np.errstate(all="ignore"):
        got = operation(*args, mode)
    assert got.dtype == args[0].dtype
    columns, result = [listed(a) for a in args], listed(got)
    for *xs, value in zip(*columns, result, strict=True):
        want = expected(*xs)
        assert same(value, want), f"{operation.__name__}{tuple(xs)} {mode}: {value}, not {want}"


def zero_sum(parts: list[float], mode: Rounding) -> float:
    """The sign of an exact zero sum of the given parts."""
    if all(p == 0 for p in parts) and len({math.copysign(1, p) for p in parts}) == 1:
        return parts[0]
    return -0.0 if mode is Rounding.RD else 0.0


@both
@modes
def test_sums(dtype: type[np.floating[Any]], form: Format, mode: Rounding) -> None:
    def plus(x: float, y: float) -> float:
        if not (math.isfinite(x) and math.isfinite(y)):
            return x + y
        total = Fraction(x) + Fraction(y)
        return rounded(total, mode, form) if total else zero_sum([x, y], mode)

    args = operands(dtype, 2, 1)
    compare(floats.add, plus, args, mode)
    compare(floats.sub, lambda x, y: plus(x, -y), args, mode)


@both
@modes
def test_products(dtype: type[np.floating[Any]], form: Format, mode: Rounding) -> None:
    def times(x: float, y: float) -> float:
        if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
            return x * y
        return rounded(Fraction(x) * Fraction(y), mode, form)

    compare(floats.mul, times, operands(dtype, 2, 2), mode)


def divide(x: float, y: float, mode: Rounding, form: Format) -> float:
    if math.isnan(x) or math.isnan(y) or (x == 0 and y == 0) or (math.isinf(x) and math.isinf(y)):
        return math.nan
    sign = math.copysign(1, x) * math.copysign(1, y)
    if y == 0 or math.isinf(x):
        return sign * math.inf
    if x == 0 or math.isinf(y):
        return sign * 0.0
    return rounded(Fraction(x) / Fraction(y), mode, form)


@both
@modes
def test_quotients(dtype: type[np.floating[Any]], form: Format, mode: Rounding) -> None:
    compare(floats.div, lambda x, y: divide(x, y, mode, form), operands(dtype, 2, 3), mode)


@both
@modes
def test_square_roots(dtype: type[np.floating[Any]], form: Format, mode: Rounding) -> None:
    def root(x: float) -> float:
        if x == 0 or x == math.inf:
            return x
        return math.nan if not x > 0 else square_root(Fraction(x), mode, form)

    compare(floats.sqrt, root, operands(dtype, 1, 4), mode)


def multiply_add(x: float, y: float, z: float, mode: Rounding, form: Format) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    product = Fraction(x) * Fraction(y)
    total = product + Fraction(z)
    if total:
        return rounded(total, mode, form)
    if product:
        return -0.0 if mode is Rounding.RD else 0.0
    return zero_sum([math.copysign(0.0, x) * math.copysign(1, y), z], mode)


@both
@modes
def test_fused_multiply_add(dtype: type[np.floating[Any]], form: Format, mode: Rounding) -> None:
    def fused(x: float, y: float, z: float) -> float:
        return multiply_add(x, y, z, mode, form)

    args = operands(dtype, 3, 5)
    compare(floats.fma, fused, args, mode)
    with np.errstate(all="ignore"):
        opposite = -(args[0] * args[1])  # cancels all but the low half of the product
    compare(floats.fma, fused, [args[0], args[1], opposite], mode)


@both
@modes
def test_ties_of_fused_multiply_add(
    dtype: type[np.floating[Any]], form: Format, mode: Rounding
) -> None:
    """Half a unit plus or minus next to nothing: the case that rounding twice gets wrong."""
    eps, least = np.finfo(dtype).eps, np.finfo(dtype).smallest_subnormal
    one = dtype(1)
    rows = [
        (one + eps, dtype(1.5) * eps / 2, one),
        *[(one + s * eps, eps / 2 + t * eps * eps, one + u * eps)
          for s in (0, 1, 2) for t in (-1, 0, 1) for u in (0, 1, 2)],
        (least, least, one), (least, -least, one), (least, least, eps),
        (least, dtype(0.5), dtype(0)), (least, dtype(0.5), least), (-least, dtype(0.5), least),
        (np.finfo(dtype).max, one + eps, -np.finfo(dtype).max),
        (np.finfo(dtype).max, dtype(2), -np.finfo(dtype).max),
    ]  # fmt: skip
    args = [np.array([row[k] for row in rows], dtype)[None, :] for k in range(3)]
    compare(floats.fma, lambda x, y, z: multiply_add(x, y, z, mode, form), args, mode)


def test_quotients_of_halves() -> None:
    """Positive hf numbers of all sizes by a few others, in every mode."""
    every = np.arange(0, 0x7C00, 97, np.uint16).view(np.float16)[None, :]
    for other in (np.float16(6e-8), np.float16(0.1), np.float16(1.001), np.float16(60000)):
        fixed = np.full_like(every, other)
        for mode in MODES:
            compare(floats.div, lambda x, y, m=mode: divide(x, y, m, HALF), [every, fixed], mode)


@both
def test_rounding_to_integral_values(dtype: type[np.floating[Any]], form: Format) -> None:
    xs = [-2.5, -1.5, -0.5, -0.25, -0.0, 0.0, 0.25, 0.5, 1.5, 2.5, 1000.5, math.inf, math.nan]
    table = {
        Rounding.RNE: lambda x: float(round(x)),
        Rounding.RU: lambda x: float(math.ceil(x)),
        Rounding.RD: lambda x: float(math.floor(x)),
        Rounding.RTZ: lambda x: float(math.trunc(x)),
    }
    for mode, whole in table.items():
        compare(
            floats.round_integral,
            lambda x, whole=whole: math.copysign(whole(x), x) if math.isfinite(x) else x,
            [np.array([xs], dtype)],
            mode,
        )


@both
def test_flush_keeps_everything_but_denormals(dtype: type[np.floating[Any]], form: Format) -> None:
    x = np.array([edges(dtype)], dtype)
    tiny = float(np.finfo(dtype).tiny)
    got = floats.flush(x)
    for before, after in zip(listed(x), listed(got), strict=True):
        assert same(after, math.copysign(0.0, before) if abs(before) < tiny else before)


# ---- conversions


@modes
@pytest.mark.parametrize("target", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_between_floats(
    source: type[np.floating[Any]], target: type[np.floating[Any]], mode: Rounding
) -> None:
    form = dict(TYPES)[target]
    x = operands(source, 1, 6)[0]
    edge = np.array([edges(target)], np.float64)
    with np.errstate(all="ignore"):
        nudged = np.concatenate([edge, np.nextafter(edge, 0), np.nextafter(edge, 9e99)], axis=1)
        x = np.concatenate([x, nudged.astype(source)], axis=1)
        got = floats.to_float(x, np.dtype(target), mode)
    for before, after in zip(listed(x), listed(got), strict=True):
        keep = before == 0 or not math.isfinite(before)
        assert same(after, before if keep else rounded(Fraction(before), mode, form))


@modes
@pytest.mark.parametrize("target", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("source", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_integers_to_floats(source: str, target: type[np.floating[Any]], mode: Rounding) -> None:
    form, info = dict(TYPES)[target], np.iinfo(source)
    generator = np.random.default_rng(7)
    values = {0, 1, info.min, info.max, info.max - 1, info.min + 1}
    for bits in range(1, info.bits):
        values |= {2**bits + d for d in (-3, -2, -1, 0, 1, 2, 3)}
        values |= {-(2**bits) + d for d in (-1, 0, 1)}
    values |= {v >> s for v in generator.integers(info.min, info.max, 300, source).tolist()
               for s in (0, 7, 13, 29)}  # fmt: skip
    kept = sorted(v for v in values if info.min <= v <= info.max)
    with np.errstate(all="ignore"):
        got = floats.from_int(np.array([kept], source), np.dtype(target), mode)
    for before, after in zip(kept, listed(got), strict=True):
        assert same(after, rounded(Fraction(before), mode, form) if before else 0.0), before


@pytest.mark.parametrize("target", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_floats_to_integers(source: type[np.floating[Any]], target: str) -> None:
    info = np.iinfo(target)
    limits = [float(info.min), float(info.max), 0.0, -0.5, 0.9, -0.9, 1.5, 2.5]
    extra = np.array(limits, np.float64)
    with np.errstate(all="ignore"):
        around = np.concatenate([extra, np.nextafter(extra, -9e99), np.nextafter(extra, 9e99)])
        x = np.concatenate([operands(source, 1, 8)[0], around.astype(source)[None, :]], axis=1)
        got = floats.to_int(x, np.dtype(target))
    for before, after in zip(listed(x), got[0].tolist(), strict=True):
        if math.isnan(before):
            want = 0
        elif math.isinf(before):
            want = info.max if before > 0 else info.min
        else:
            want = min(max(math.trunc(before), info.min), info.max)
        assert after == want, before


@modes
def test_bfloat16(mode: Rounding) -> None:
    form = Format(8, -126, 127)
    x = operands(np.float32, 1, 9)[0].astype(np.float32)
    with np.errstate(all="ignore"):
        bits = floats.to_bf16(x, mode)
        got = floats.from_bf16(bits)
    for before, after in zip(listed(x), listed(got), strict=True):
        keep = before == 0 or not math.isfinite(before)
        assert same(after, before if keep else rounded(Fraction(before), mode, form)), before


@modes
def test_exact_integers_agree_with_rationals_at_every_exponent(mode: Rounding) -> None:
    generator = np.random.default_rng(10)
    with np.errstate(all="ignore"):
        triples = random_values(np.float64, 600, generator).reshape(-1, 3)
    for x, y, z in triples[np.isfinite(triples).all(axis=1)].tolist():
        assert same(exact.fma(x, y, z, mode), multiply_add(x, y, z, mode, DOUBLE))
        assert same(exact.mul(x, y, mode), rounded(Fraction(x) * Fraction(y), mode, DOUBLE))
        assert same(exact.div(x, y, mode), rounded(Fraction(x) / Fraction(y), mode, DOUBLE))
        assert same(exact.sqrt(abs(x), mode), square_root(Fraction(abs(x)), mode, DOUBLE))
