"""A second model of the sampler: one texel at a time, from the published equations.

Sources: the Vulkan specification (texel input operations, cube maps, level of detail), the OpenCL
specification (addressing modes), IEC 61966-2-1.  Plain Python floats; shares nothing with eumu.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Texel = tuple[float, ...]
Fetch = Callable[[int, int], Texel]  # column, row


def index(k: int, n: int, mode: str) -> int | None:
    """The texel that an index means; None is the border."""
    if mode == "repeat":
        return k % n
    if mode == "mirrored_repeat":
        k = k % (2 * n)
        return k if k < n else 2 * n - 1 - k
    if mode == "mirror_clamp_to_edge":
        return min(k if k >= 0 else -1 - k, n - 1)
    if mode in ("clamp_to_border", "half_border"):
        return k if 0 <= k < n else None
    return min(max(k, 0), n - 1)


def in_texels(c: float, n: int, mode: str) -> float:
    """A normalized coordinate in texels."""
    if mode == "half_border":
        return min(max(c * n, 0.0), float(n))
    return c * n


def nearest(u: float, v: float, w: int, h: int, mode: str, fetch: Fetch, border: Texel) -> Texel:
    """One texel of a 2D level at normalized coordinates."""
    x = index(math.floor(in_texels(u, w, mode)), w, mode)
    y = index(math.floor(in_texels(v, h, mode)), h, mode)
    return border if x is None or y is None else fetch(x, y)


def linear(u: float, v: float, w: int, h: int, mode: str, fetch: Fetch, border: Texel) -> Texel:
    """Four texels of a 2D level, mixed."""
    x, y = in_texels(u, w, mode) - 0.5, in_texels(v, h, mode) - 0.5
    i, j = math.floor(x), math.floor(y)
    a, b = x - i, y - j
    total = [0.0] * 4
    for dy, wy in ((0, 1 - b), (1, b)):
        for dx, wx in ((0, 1 - a), (1, a)):
            column, row = index(i + dx, w, mode), index(j + dy, h, mode)
            texel = border if column is None or row is None else fetch(column, row)
            for c in range(4):
                total[c] += wx * wy * texel[c]
    return tuple(total)


def face(x: float, y: float, z: float) -> tuple[int, float, float]:
    """Cube face and coordinates in 0 … 1 of a direction."""
    ax, ay, az = abs(x), abs(y), abs(z)
    if az >= ax and az >= ay:
        number, s, t, m = (4, x, -y, az) if z >= 0 else (5, -x, -y, az)
    elif ay >= ax:
        number, s, t, m = (2, x, z, ay) if y >= 0 else (3, x, -z, ay)
    else:
        number, s, t, m = (0, -z, -y, ax) if x >= 0 else (1, z, -y, ax)
    return number, (s / m + 1) / 2, (t / m + 1) / 2


def srgb_to_linear(x: float) -> float:
    return x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4


def small_float(bits: int, mantissa: int) -> float:
    """An unsigned float with five bits of exponent."""
    exponent, fraction = bits >> mantissa, bits & (1 << mantissa) - 1
    if exponent == 31:
        return math.inf if not fraction else math.nan
    if exponent == 0:
        return fraction * 2.0 ** (-14 - mantissa)
    return (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - 15)


def lod(dx: Sequence[float], dy: Sequence[float]) -> float:
    """log2 of the longer gradient, in texels."""
    long = max(math.hypot(*dx), math.hypot(*dy))
    return math.log2(long) if long > 0 else -math.inf


def compare(op: str, reference: float, texel: float) -> float:
    """Direct3D's and Vulkan's comparison: 1 where `reference op texel` holds."""
    holds = {
        "never": False,
        "less": reference < texel,
        "equal": reference == texel,
        "less_equal": reference <= texel,
        "greater": reference > texel,
        "not_equal": reference != texel,
        "greater_equal": reference >= texel,
        "always": True,
    }[op]
    return float(holds)
