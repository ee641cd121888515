"""The logarithm to base 2, of which a vector of the processor has no instruction."""

from __future__ import annotations

import math
from typing import Final

from eumu.device.compiled.vectors import Vector

_TERMS: Final = 13  # of the series: 54 bits


def log2(x: Vector) -> Vector:
    """Of doubles from 0 on: exponent plus a series in (m - 1) / (m + 1)."""
    b = x.body
    wide = f"<{b.width} x i64>"
    bits = b.op(f"bitcast {x.typed} to {wide}")
    # From half of the square root on, so that the series is short.
    half = 0x3FE6A09E667F3BCD
    moved = b.op(f"sub {wide} {bits}, splat (i64 {half})")
    exponent = b.op(f"ashr {wide} {moved}, splat (i64 52)")
    shifted = b.op(f"shl {wide} {exponent}, splat (i64 52)")
    fraction = b.op(f"sub {wide} {bits}, {shifted}")
    m = b.vector("d", b.op(f"bitcast {wide} {fraction} to {x.type}"))
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    total = b.splatted("d", 2 / math.log(2) / (2 * _TERMS - 1))
    for k in reversed(range(_TERMS - 1)):
        total = total * square + 2 / math.log(2) / (2 * k + 1)
    log = b.vector("d", b.op(f"sitofp {wide} {exponent} to {x.type}")) + total * s
    log = b.where(b.equal(x, math.inf), x, log)
    return b.where(b.equal(x, 0.0), -math.inf, log)
