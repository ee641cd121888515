"""BC6H and BC7: blocks with modes, partitions and interpolated ends.

Source: the Khronos Data Format specification, "BPTC compressed texture image formats".  Blocks are
16 bytes; functions take [N, 16] and the texel's number in its block, and work mode by mode.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.surfaces.bptc_tables import (
    ANCHOR_OF_TWO,
    ANCHORS_OF_THREE,
    BC6_MODES,
    BC7_MODES,
    PARTITIONS_OF_THREE,
    PARTITIONS_OF_TWO,
    WEIGHTS,
    Mode7,
)
from eumu.records import dataclass

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The bits [N, 128] of blocks, and the texel that is wanted of each."""

    bits: NDArray[np.uint8]
    place: Ints

    def field(self, first: int | Ints, size: int) -> Ints:
        """`size` bits from `first` on, which may differ from block to block."""
        start = np.broadcast_to(np.asarray(first, np.int64), (len(self.bits),))
        value = np.zeros(len(self.bits), np.int64)
        for k in range(size):
            at = np.minimum(start + k, 127)
            value |= self.bits[np.arange(len(at)), at].astype(np.int64) << k
        return value

    def index(self, first: int, size: int, anchors: list[Ints]) -> Ints:
        """The texel's index of `size` bits; those of anchors lack their highest bit, which is 0."""
        before = sum((a < self.place).astype(np.int64) for a in anchors)
        value = self.field(first + size * self.place - before, size)
        is_anchor = np.any([a == self.place for a in anchors], axis=0)
        short: Ints = np.where(is_anchor, value & (1 << size - 1) - 1, value)
        return short

    def subset(self, count: int, partition: Ints) -> tuple[Ints, list[Ints]]:
        """Which subset the texel is in, and the anchors of all of them."""
        zero = np.zeros_like(self.place)
        if count == 1:
            return zero, [zero]
        if count == 2:
            return PARTITIONS_OF_TWO[partition] >> self.place & 1, [zero, ANCHOR_OF_TWO[partition]]
        anchors = [zero, ANCHORS_OF_THREE[0][partition], ANCHORS_OF_THREE[1][partition]]
        return PARTITIONS_OF_THREE[partition] >> 2 * self.place & 3, anchors


def _blocks(data: NDArray[np.uint8], place: NDArray[Any], some: NDArray[np.intp]) -> _Blocks:
    bits = np.unpackbits(np.ascontiguousarray(data[some]), axis=1, bitorder="little")
    return _Blocks(bits, place[some].astype(np.int64))


def _interpolated(low: Ints, high: Ints, index: Ints, bits: int) -> Ints:
    weight = WEIGHTS[bits][index]
    mixed: Ints = (low * (64 - weight) + high * weight + 32) >> 6
    return mixed


# ---- BC7


def decode_bc7(data: NDArray[np.uint8], place: NDArray[Any]) -> NDArray[np.float64]:
    """Texels [N, 4] in 0 … 1; a block of no mode is 0."""
    out = np.zeros((len(data), 4))
    first = data[:, 0].astype(np.int64)
    mode = np.where(first == 0, 8, np.log2(np.maximum(first & -first, 1)).astype(np.int64))
    for number, layout in enumerate(BC7_MODES):
        some = np.flatnonzero(mode == number)
        if len(some):
            out[some] = _mode7(_blocks(data, place, some), number, layout) / 255
    return out


def _mode7(b: _Blocks, number: int, m: Mode7) -> Ints:
    at = number + 1
    partition = b.field(at, m.partition_bits)
    at += m.partition_bits
    rotation = b.field(at, m.rotation_bits)
    at += m.rotation_bits
    swapped = b.field(at, m.selection_bits)
    at += m.selection_bits
    subset, anchors = b.subset(m.subsets, partition)
    ends, at = _ends7(b, m, at, subset)
    first = b.index(at, m.index_bits, anchors)
    at += 16 * m.index_bits - m.subsets
    out = np.empty((len(subset), 4), np.int64)
    if not m.second_bits:
        for c in range(4):
            out[:, c] = _interpolated(ends[0][c], ends[1][c], first, m.index_bits)
        return out
    second = b.index(at, m.second_bits, [np.zeros_like(subset)])
    for c in range(4):
        plain = _interpolated(ends[0][c], ends[1][c], first, m.index_bits)
        other = _interpolated(ends[0][c], ends[1][c], second, m.second_bits)
        out[:, c] = np.where((swapped == 1) ^ (c == 3), other, plain)
    for c in range(3):  # rotation 1 to 3: alpha changes places with red, green, blue
        k = rotation == c + 1
        out[k, c], out[k, 3] = out[k, 3], out[k, c].copy()
    return out


def _ends7(b: _Blocks, m: Mode7, at: int, subset: Ints) -> tuple[list[list[Ints]], int]:
    """Both ends of the texel's subset, four channels of 8 bits each, and where they end."""
    ends: list[list[Ints]] = [[], []]
    for c in range(4):
        size = m.alpha_bits if c == 3 else m.colour_bits
        for e in range(2):
            ends[e].append(b.field(at + (2 * subset + e) * size, size))
        at += 2 * m.subsets * size
    count = 2 * m.subsets if m.parity == "end" else m.subsets if m.parity == "subset" else 0
    for e in range(2):
        which = 2 * subset + e if m.parity == "end" else subset
        parity = b.field(at + which, 1) if m.parity else None
        for c in range(4):
            size = m.alpha_bits if c == 3 else m.colour_bits
            if not size:
                ends[e][c] = np.full_like(subset, 255)
                continue
            value = ends[e][c]
            if parity is not None:
                value, size = value << 1 | parity, size + 1
            ends[e][c] = value << 8 - size | value >> 2 * size - 8
    return ends, at + count


# ---- BC6H


def decode_bc6(
    data: NDArray[np.uint8], place: NDArray[Any], *, signed: bool
) -> NDArray[np.float64]:
    """Red, green and blue [N, 3]; a block of a reserved mode is 0."""
    out = np.zeros((len(data), 3))
    code = data[:, 0].astype(np.int64) & 31
    code = np.where(code & 2, code, code & 1)
    for number, layout in BC6_MODES.items():
        some = np.flatnonzero(code == number)
        if not len(some):
            continue
        b = _blocks(data, place, some)
        partition = b.field(77, 5) if layout.subsets == 2 else np.zeros(len(some), np.int64)
        subset, anchors = b.subset(layout.subsets, partition)
        bits = 3 if layout.subsets == 2 else 4
        index = b.index(82 if layout.subsets == 2 else 65, bits, anchors)
        ends = _ends6(b, layout, signed)
        for c in range(3):
            low = np.where(subset == 1, ends[c][2], ends[c][0])
            high = np.where(subset == 1, ends[c][3], ends[c][1])
            out[some, c] = _half(_interpolated(low, high, index, bits), signed)
    return out


def _ends6(b: _Blocks, layout: Any, signed: bool) -> list[list[Ints]]:
    """Four ends for each channel, in sixteen bits."""
    raw = {name: np.zeros(len(b.place), np.int64) for name in _NAMES}
    for at, (name, bit) in enumerate(layout.fields, layout.mode_bits):
        raw[name] |= b.bits[:, at].astype(np.int64) << bit
    colours = []
    for c, letter in enumerate("rgb"):
        base, size = raw[f"{letter}0"], layout.bits
        ends = [_extended(base, size) if signed else base]
        for k in range(1, 4):
            value = raw[f"{letter}{k}"]
            if layout.deltas[c] != size or layout.is_transformed:
                value = base + _extended(value, layout.deltas[c]) & (1 << size) - 1
            ends.append(_extended(value, size) if signed else value)
        colours.append([_unquantized(e, size, signed) for e in ends])
    return colours


_NAMES: Final = tuple(f"{c}{k}" for c in "rgb" for k in range(4))


def _extended(x: Ints, size: int) -> Ints:
    return x - ((x >> size - 1) << size)


def _unquantized(x: Ints, size: int, signed: bool) -> Ints:
    if signed:
        if size >= 16:
            return x
        size_of = np.abs(x)
        wide = (size_of << 15) + 0x4000 >> size - 1
        wide = np.where(size_of >= (1 << size - 1) - 1, 0x7FFF, wide)
        return np.where(size_of == 0, 0, np.where(x < 0, -wide, wide))
    if size >= 15:
        return x
    wide = (x << 16) + 0x8000 >> size
    return np.where(x == 0, 0, np.where(x == (1 << size) - 1, 0xFFFF, wide))


def _half(x: Ints, signed: bool) -> NDArray[np.float64]:
    """The float whose sixteen bits a finished value stands for."""
    if signed:
        size = np.abs(x) * 31 >> 5
        code = np.where(x < 0, size | 0x8000, size)
    else:
        code = x * 31 >> 6
    return code.astype(np.uint16).view(np.float16).astype(np.float64)
