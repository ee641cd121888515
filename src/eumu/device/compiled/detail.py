"""Levels of detail of gradients: the logarithm of a footprint's length, in every lane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from eumu.device.compiled.writer import Body

__all__ = ["gradient_lod", "quad_lod"]

_TERMS: Final = 13  # of the series of the logarithm: 54 bits
_INFINITY: Final = "0x7FF0000000000000"


def _double(value: float) -> str:
    return f"splat (double {value!r})"


def quad_lod(b: Body, coordinates: Sequence[str]) -> str:
    """Of neighbouring lanes: four are a square."""
    pairs = []
    for c in coordinates:
        right, below = (_difference(b, c, n) for n in (1, 2))
        pairs.append((right, below))
    return gradient_lod(b, pairs)


def _difference(b: Body, c: str, lane: int) -> str:
    """A lane of each square less its first one."""
    sides = []
    for n in (lane, 0):
        lanes = ", ".join(f"i32 {k // 4 * 4 + n}" for k in range(b.width))
        sides.append(b.op(f"shufflevector {b.f} {c}, {b.f} poison, <{b.width} x i32> <{lanes}>"))
    return b.floats("fsub", *sides)


def gradient_lod(b: Body, pairs: Sequence[tuple[str, str]]) -> str:
    """Of the gradients of each coordinate along x and y."""
    across, down = (_length(b, [p[k] for p in pairs]) for k in range(2))
    larger = b.op(f"fcmp ogt {b.d} {across}, {down}")
    long = b.choose(larger, b.d, across, down)
    ordered = b.op(f"fcmp ord {b.d} {across}, {down}")
    lod = _log2(b, long)
    return b.cast("fptrunc", b.choose(ordered, b.d, lod, "zeroinitializer"), b.d, b.f)


def _length(b: Body, parts: Sequence[str]) -> str:
    total = ""
    for k, part in enumerate(parts):
        scale = b.splat(b.d, b.field("scale", k))
        x = b.doubles("fmul", b.cast("fpext", part, b.f, b.d), scale)
        square = b.doubles("fmul", x, x)
        total = b.doubles("fadd", total, square) if total else square
    return b.call(b.d, "sqrt", total)


def _log2(b: Body, x: str) -> str:
    """Of a number from 0 on: exponent plus a series in (m - 1) / (m + 1)."""
    wide = f"<{b.width} x i64>"
    bits = b.cast("bitcast", x, b.d, wide)
    # From half of the square root on, so that the series is short.
    half = 0x3FE6A09E667F3BCD
    moved = b.op(f"sub {wide} {bits}, splat (i64 {half})")
    exponent = b.op(f"ashr {wide} {moved}, splat (i64 52)")
    shifted = b.op(f"shl {wide} {exponent}, splat (i64 52)")
    m = b.cast("bitcast", b.op(f"sub {wide} {bits}, {shifted}"), wide, b.d)
    s = b.doubles("fdiv", b.doubles("fsub", m, _double(1.0)), b.doubles("fadd", m, _double(1.0)))
    square = b.doubles("fmul", s, s)
    total = _double(2 / math.log(2) / (2 * _TERMS - 1))
    for k in reversed(range(_TERMS - 1)):
        term = _double(2 / math.log(2) / (2 * k + 1))
        total = b.doubles("fadd", b.doubles("fmul", total, square), term)
    whole = b.cast("sitofp", exponent, wide, b.d)
    log = b.doubles("fadd", whole, b.doubles("fmul", total, s))
    infinite = b.op(f"fcmp oeq {b.d} {x}, splat (double {_INFINITY})")
    log = b.choose(infinite, b.d, x, log)
    zero = b.op(f"fcmp oeq {b.d} {x}, zeroinitializer")
    return b.choose(zero, b.d, "splat (double 0xFFF0000000000000)", log)
