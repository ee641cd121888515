"""A third model of images, exact to the bit: one lane, one texel, one number at a time.

Written from the OpenCL specification (addressing modes, filters), IEEE 754 and the PRM on tiled
memory; integers and fractions of Python, single precision where the equations have it.  Shares no
code with eumu.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from images.scalar_model import index, small_float

Number = np.float32
Texel = list[float]
Fetch = Callable[[Sequence[int]], Texel]  # of x, y and z

# Channels from the lowest bit on: which of RGBA, bits, kind.
FORMATS: dict[str, list[tuple[str, int, str]]] = {
    "R8G8B8A8_UNORM": [(c, 8, "unorm") for c in "RGBA"],
    "B8G8R8A8_UNORM": [(c, 8, "unorm") for c in "BGRA"],
    "R8G8B8A8_SNORM": [(c, 8, "snorm") for c in "RGBA"],
    "R16G16B16A16_UNORM": [(c, 16, "unorm") for c in "RGBA"],
    "R16G16_SNORM": [(c, 16, "snorm") for c in "RG"],
    "R16G16B16A16_FLOAT": [(c, 16, "float") for c in "RGBA"],
    "R32G32B32A32_FLOAT": [(c, 32, "float") for c in "RGBA"],
    "R32_FLOAT": [("R", 32, "float")],
    "R11G11B10_FLOAT": [("R", 11, "float"), ("G", 11, "float"), ("B", 10, "float")],
    "R10G10B10A2_UNORM": [*((c, 10, "unorm") for c in "RGB"), ("A", 2, "unorm")],
    "B5G6R5_UNORM": [("B", 5, "unorm"), ("G", 6, "unorm"), ("R", 5, "unorm")],
    "A8_UNORM": [("A", 8, "unorm")],
    "R8G8B8A8_UINT": [(c, 8, "uint") for c in "RGBA"],
    "R16G16B16A16_SINT": [(c, 16, "sint") for c in "RGBA"],
    "R32G32_UINT": [(c, 32, "uint") for c in "RG"],
    "R32_SINT": [("R", 32, "sint")],
}


def is_integer(format: str) -> bool:
    return FORMATS[format][0][2] in ("uint", "sint")


def size_of(format: str) -> int:
    """Bytes of a texel."""
    return sum(bits for _, bits, _ in FORMATS[format]) // 8


# ---- numbers


def decode(format: str, data: bytes) -> Texel:
    """Red, green, blue, alpha of the bytes of a texel; what is missing is 0, alpha 1."""
    word, found = int.from_bytes(data, "little"), [0.0, 0.0, 0.0, 1.0]
    for channel, bits, kind in FORMATS[format]:
        found["RGBA".index(channel)] = _number(word & (1 << bits) - 1, bits, kind)
        word >>= bits
    return found


def _number(raw: int, bits: int, kind: str) -> float:
    signed = raw - (1 << bits) if raw >> bits - 1 else raw
    match kind, bits:
        case "unorm", _:
            return float(Fraction(raw, (1 << bits) - 1))
        case "snorm", _:
            return float(max(Fraction(signed, (1 << bits - 1) - 1), Fraction(-1)))
        case "sint", _:
            return signed
        case "float", 32:
            return float(struct.unpack("<f", struct.pack("<I", raw))[0])
        case "float", 16:
            return float(struct.unpack("<e", struct.pack("<H", raw))[0])
        case "float", _:
            return small_float(raw, bits - 5)
    return raw


def encode(format: str, values: Sequence[float]) -> bytes:
    """The bytes of a texel whose channels are these numbers."""
    word = shift = 0
    for channel, bits, kind in FORMATS[format]:
        word |= _code(values["RGBA".index(channel)], bits, kind) << shift
        shift += bits
    return word.to_bytes(shift // 8, "little")


def _code(value: float, bits: int, kind: str) -> int:
    match kind, bits:
        case (("unorm" | "snorm"), _):
            top = (1 << bits - (kind == "snorm")) - 1
            low = -1 if kind == "snorm" else 0
            near = 0.0 if math.isnan(value) else min(max(value, low), 1)
            return round(Fraction(near) * top) & (1 << bits) - 1
        case "uint", _:
            return min(int(value), (1 << bits) - 1)
        case "sint", _:
            half = 1 << bits - 1
            return min(max(int(value), -half), half - 1) & (1 << bits) - 1
        case "float", 32:
            return int(np.float32(value).view(np.uint32))
        case "float", 16:
            return _half(value)
    return _small_code(value, bits)


def _half(value: float) -> int:
    if math.isnan(value):
        return 0x7E00
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    return sign | _nearest(abs(value), 16)


def _small_code(value: float, bits: int) -> int:
    """Unsigned: what is negative is 0."""
    if math.isnan(value):
        return (31 << bits - 5) | 1 << bits - 6
    return _nearest(max(value, 0.0), bits)


def _nearest(value: float, bits: int) -> int:
    """The code of the float nearest to a value from 0 on, the even one of two."""
    codes = _values(bits)
    if math.isinf(value) or value >= codes[-1]:
        return len(codes) - 1
    exact, low = Fraction(value), int(np.searchsorted(codes, value, side="right")) - 1
    below, above = exact - Fraction(codes[low]), Fraction(codes[low + 1]) - exact
    return low + (above < below or (above == below and low & 1))


@cache
def _values(bits: int) -> list[float]:
    """Of all codes without sign; infinity is where the next number would be."""
    fraction = 10 if bits == 16 else bits - 5
    return [*(small_float(code, fraction) for code in range(31 << fraction)), 2.0**16]


# ---- memory


def address(tile: str, pitch: int, qpitch: int, size: int, at: Sequence[int]) -> int:
    """The first byte of texel x, y of a slice; `qpitch` rows are a slice."""
    x, y, slice = at
    left, row = x * size, y + slice * qpitch
    if tile == "LINEAR":
        return row * pitch + left
    width, height = (512, 8) if tile == "XMAJOR" else (128, 32)
    tile_start = 4096 * (row // height * (pitch // width) + left // width)
    if tile == "XMAJOR":
        return tile_start | (row & 7) << 9 | left & 511
    return tile_start | (left >> 4 & 7) << 9 | (row & 31) << 4 | left & 15


# ---- filters


@dataclass(frozen=True)
class Filter:
    """How a surface is sampled; modes by OpenCL's names."""

    modes: tuple[str, ...]
    sizes: tuple[int, ...]
    normalized: bool = True
    linear: bool = False
    rounded: tuple[bool, ...] = (False, False, False)
    offsets: tuple[int, ...] = (0, 0, 0)
    join: str = "mix"  # or "min", "max"
    compare: str = ""
    reference: float = 0.0
    clamps_reference: bool = False


def axis(filter: Filter, d: int, c: np.float32) -> tuple[list[int | None], Fraction]:
    """The texels of a dimension, None for the border, and the weight of the second one."""
    mode, n, up = filter.modes[d], filter.sizes[d], 1
    c = Number(0) if np.isnan(c) else min(max(c, Number(-(2**30))), Number(2**30))
    if filter.normalized:
        if mode == "repeat":
            c = c - np.floor(c)
        elif mode == "mirrored_repeat":
            even = Number(2) * np.rint(Number(0.5) * c)
            up, c = (-1 if c < even else 1), abs(c - even)
        elif mode == "mirror_clamp_to_edge":
            up, c = (-1 if c < 0 else 1), abs(c)
        c = c * Number(n)
        if mode == "half_border":
            c = min(max(c, Number(0)), Number(n))
    exact = Fraction(float(c)) * 256 + Fraction(int(filter.rounded[d]), 2)
    steps = math.floor(exact) - 128 * filter.linear
    first = steps // 256 + filter.offsets[d] * up
    places = [first, first + 1] if filter.linear else [first]
    weight = Fraction(steps % 256, 256) if filter.linear else Fraction(0)
    return [index(k, n, mode) for k in places], weight


def footprint(
    filter: Filter, coordinates: Sequence[np.float32], fetch: Fetch, border: Texel
) -> tuple[list[list[np.float32]], list[Fraction]]:
    """The texels of a sample, x fastest, and the weights of the dimensions."""
    axes = [axis(filter, d, c) for d, c in enumerate(coordinates)]
    places: list[list[int | None]] = [[]]
    for some, _ in axes:
        places = [[*p, k] for k in some for p in places]
    found = []
    for place in places:
        known = [k for k in place if k is not None]
        texel = [Number(v) for v in (border if None in place else fetch(known))]
        found.append(_compared(filter, texel) if filter.compare else texel)
    return found, [w for _, w in axes]


def sample(
    filter: Filter, coordinates: Sequence[np.float32], fetch: Fetch, border: Texel
) -> list[np.float32]:
    """A filtered texel."""
    texels, weights = footprint(filter, coordinates, fetch, border)
    for weight in weights if filter.linear else []:
        pairs = zip(texels[::2], texels[1::2], strict=True)
        texels = [[_joined(filter, p, q, weight) for p, q in zip(a, b, strict=True)]
                  for a, b in pairs]  # fmt: skip
    return texels[0]


def _joined(filter: Filter, a: np.float32, b: np.float32, weight: Fraction) -> np.float32:
    if weight == 0:
        return a
    if filter.join != "mix":
        if np.isnan(a) or np.isnan(b):
            return b if np.isnan(a) else a
        return min(a, b) if filter.join == "min" else max(a, b)
    return a if a == b else a + (b - a) * Number(float(weight))


def _compared(filter: Filter, texel: list[np.float32]) -> list[np.float32]:
    """Red is 0 where `texel op reference` holds, else 1."""
    red, reference = texel[0], Number(filter.reference)
    if filter.clamps_reference and not np.isnan(reference):
        reference = min(max(reference, Number(0)), Number(1))
    holds = {
        "ALWAYS": True,
        "NEVER": False,
        "LESS": red < reference,
        "EQUAL": red == reference,
        "LEQUAL": red <= reference,
        "GREATER": red > reference,
        "NOTEQUAL": red != reference,
        "GEQUAL": red >= reference,
    }[filter.compare]
    return [Number(not holds), Number(0), Number(0), Number(1)]


def gather(
    filter: Filter, coordinates: Sequence[np.float32], fetch: Fetch, border: Texel, channel: int
) -> list[np.float32]:
    """A channel of four texels: lower left, lower right, upper right, upper left."""
    texels, _ = footprint(filter, coordinates, fetch, border)
    upper, lower = texels[:2], texels[-2:]
    return [t[channel] for t in (lower[0], lower[1], upper[1], upper[0])]


# ---- mip levels


@dataclass(frozen=True)
class Levels:
    """How levels are chosen.  `last` is the surface's last one, `floor` its own least."""

    mips: str  # "none", "nearest", "linear"
    last: int
    bias: float = 0.0
    least: float = 0.0
    greatest: float = 14.0
    floor: float = 0.0
    base: float = 0.0
    clamps_first: bool = True  # before it is decided whether the image is magnified
    mips_if_magnified: bool = False


def level(how: Levels, lod: float) -> tuple[Fraction, bool]:
    """The level that is read, a fraction between two, and whether the image is magnified.

    OpenGL clamps to the sampler's limits first; the levels that there are come after.
    """
    exact = 0.0 if math.isnan(lod + how.bias) else lod + how.bias
    if how.clamps_first:
        exact = max(min(exact, how.greatest), how.least)
    near = Fraction(min(max(exact, -99.0), 99.0))
    magnified = round(near * 256) <= how.base * 256
    low = max(how.least, how.floor)
    if how.mips == "none" or (magnified and not how.mips_if_magnified):
        first = max(math.floor(how.base), math.floor(low))
        first = min(first, max(math.ceil(how.greatest), math.floor(low)))
        return Fraction(min(first, how.last)), magnified
    steps = round(
        min(max(near, Fraction(low)), Fraction(max(min(how.greatest, how.last), low))) * 256
    )
    if how.mips == "nearest":
        return Fraction(min((steps + 128) // 256, how.last)), magnified
    return min(Fraction(steps, 256), Fraction(how.last)), magnified


# ---- cubes


def on_cube(face: int, x: float, y: float, n: int) -> tuple[float, float, float]:
    """Where the centre of a texel is in space, on the faces +X, -X, +Y, -Y, +Z, -Z as Direct3D has
    them; beyond the edge of its face it lies in the same plane.
    """
    s, t = (2 * x + 1) / n - 1, (2 * y + 1) / n - 1
    return ((1, -t, -s), (-1, -t, s), (s, 1, t), (s, -1, -t), (s, -t, 1), (-s, -t, -1))[face]


def seamless(face: int, x: int, y: int, n: int) -> list[tuple[int, int, int]]:
    """Face, column and row of the texel that a texel beyond an edge is, folded over that edge;
    at a corner the three that meet there, with the face's own.
    """
    if not (0 <= x < n or 0 <= y < n):
        inner_x, inner_y = min(max(x, 0), n - 1), min(max(y, 0), n - 1)
        sides = [*seamless(face, x, inner_y, n), *seamless(face, inner_x, y, n)]
        return [(face, inner_x, inner_y), *sides]
    point, major = list(on_cube(face, x, y, n)), face // 2
    for k, c in enumerate(point):
        if abs(c) > 1:
            point[major] *= 2 - abs(c)
            point[k] = math.copysign(1, c)
    texels = [(f, i, j) for f in range(6) for i in range(n) for j in range(n)]
    return [min(texels, key=lambda texel: math.dist(point, on_cube(*texel, n)))]


# ---- chrominance and atomic operations


def pair(order: str, data: bytes, column: int) -> Texel:
    """A texel of two whose bytes are in some order of Y0, Y1, U (Cb) and V (Cr)."""
    at = {part: data[k] for k, part in enumerate(order.split())}
    parts = at["V"], at[f"Y{column % 2}"], at["U"]
    return [*(float(Number(part) / Number(255)) for part in parts), 1.0]


def atomic(operation: str, old: np.float32, x: np.float32, y: np.float32) -> np.float32:
    """What an operation on floats leaves in memory."""
    match operation:
        case "add" | "inc":
            return old + (x if operation == "add" else Number(1))
        case "sub" | "dec" | "predec":
            return old - (x if operation == "sub" else Number(1))
        case "min" | "max":
            if np.isnan(x) or np.isnan(old):
                return old if np.isnan(x) else x
            is_less = bool(old < x)
            return old if is_less is (operation == "min") else x
        case "cmpxchg":
            return x if old == y else old
    return old if operation == "load" else x
