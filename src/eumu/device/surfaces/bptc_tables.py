"""Tables of BC6H and BC7, from the Khronos Data Format specification."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from eumu.records import dataclass

WEIGHTS: Final = {
    2: np.array([0, 21, 43, 64]),
    3: np.array([0, 9, 18, 27, 37, 46, 55, 64]),
    4: np.array([0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64]),
}


def _words(text: str, base: int = 16) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([int(word, base) for word in text.split()], np.int64)


# Bit n: the subset of texel n.
PARTITIONS_OF_TWO: Final = _words("""
cccc 8888 eeee ecc8 c880 feec fec8 ec80 c800 ffec fe80 e800 ffe8 ff00 fff0 f000
f710 008e 7100 08ce 008c 7310 3100 8cce 088c 3110 6666 366c 17e8 0ff0 718e 399c
aaaa f0f0 5a5a 33cc 3c3c 55aa 9696 a55a 73ce 13c8 324c 3bdc 6996 c33c 9966 0660
0272 04e4 4e40 2720 c936 936c 39c6 639c 9336 9cc6 817e e718 ccf0 0fcc 7744 ee22
""")
# Bits 2n and 2n + 1: the subset of texel n.
PARTITIONS_OF_THREE: Final = _words("""
aa685050 6a5a5040 5a5a4200 5450a0a8 a5a50000 a0a05050 5555a0a0 5a5a5050
aa550000 aa555500 aaaa5500 90909090 94949494 a4a4a4a4 a9a59450 2a0a4250
a5945040 0a425054 a5a5a500 55a0a0a0 a8a85454 6a6a4040 a4a45000 1a1a0500
0050a4a4 aaa59090 14696914 69691400 a08585a0 aa821414 50a4a450 6a5a0200
a9a58000 5090a0a8 a8a09050 24242424 00aa5500 24924924 24499224 50a50a50
500aa550 aaaa4444 66660000 a5a0a5a0 50a050a0 69286928 44aaaa44 66666600
aa444444 54a854a8 95809580 96969600 a85454a8 80959580 aa141414 96960000
aaaa1414 a05050a0 a0a5a5a0 96000000 40804080 a9a8a9a8 aaaaaa44 2a4a5254
""")
ANCHOR_OF_TWO: Final = _words(
    """
15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 2 8 2 2 8 8 15 2 8 2 2 8 8 2 2
15 15 6 8 2 8 15 15 2 8 2 2 2 15 15 6 6 2 6 8 15 15 2 2 15 15 15 15 15 2 2 15
""",
    10,
)
ANCHORS_OF_THREE: Final = (
    _words(
        """
3 3 15 15 8 3 15 15 8 8 6 6 6 5 3 3 3 3 8 15 3 3 6 10 5 8 8 6 8 5 15 15
8 15 3 5 6 10 8 15 15 3 15 5 15 15 15 15 3 15 5 5 5 8 5 10 5 10 8 13 15 12 3 3
""",
        10,
    ),
    _words(
        """
15 8 8 3 15 15 3 8 15 15 15 15 15 15 15 8 15 8 15 3 15 8 15 8 3 15 6 10 15 15 10 8
15 3 15 10 10 8 9 10 6 15 8 15 3 6 6 8 15 3 15 15 15 15 15 15 15 15 15 15 3 15 15 8
""",
        10,
    ),
)


@dataclass(frozen=True, slots=True)
class Mode7:
    """A mode of BC7: `parity` says whether ends or subsets have a bit below their channels."""

    subsets: int
    partition_bits: int
    rotation_bits: int
    selection_bits: int
    colour_bits: int
    alpha_bits: int
    parity: str
    index_bits: int
    second_bits: int


BC7_MODES: Final = (
    Mode7(3, 4, 0, 0, 4, 0, "end", 3, 0),
    Mode7(2, 6, 0, 0, 6, 0, "subset", 3, 0),
    Mode7(3, 6, 0, 0, 5, 0, "", 2, 0),
    Mode7(2, 6, 0, 0, 7, 0, "end", 2, 0),
    Mode7(1, 0, 2, 1, 5, 6, "", 2, 3),
    Mode7(1, 0, 2, 0, 7, 8, "", 2, 2),
    Mode7(1, 0, 0, 0, 7, 7, "end", 4, 0),
    Mode7(2, 6, 0, 0, 5, 5, "end", 2, 0),
)


@dataclass(frozen=True, slots=True)
class Mode6:
    """A mode of BC6H: bits of the first end and of the others, and where every bit goes."""

    subsets: int
    mode_bits: int
    bits: int
    deltas: tuple[int, int, int]
    is_transformed: bool
    fields: tuple[tuple[str, int], ...]


_FIELD: Final = re.compile(r"([rgb][0-3])\[(\d+)(?::(\d+))?\]")


def _mode(number: int, sizes: str, layout: str) -> Mode6:
    """Fields from the lowest bit on; x[3:0] has its lowest bit first, x[10:11] its highest."""
    fields: list[tuple[str, int]] = []
    for name, high, low in _FIELD.findall(layout):
        first, last = int(low or high), int(high)
        step = 1 if last >= first else -1
        fields += [(name, bit) for bit in range(first, last + step, step)]
    bits, *deltas = map(int, sizes.split())
    r, g, b = deltas if len(deltas) == 3 else deltas * 3
    subsets = 1 if number & 3 == 3 else 2
    transformed = number not in (3, 30)
    return Mode6(subsets, 2 if number < 2 else 5, bits, (r, g, b), transformed, tuple(fields))


_ROWS: Final = """
0 | 10 5 5 5 | g2[4] b2[4] b3[4] r0[9:0] g0[9:0] b0[9:0] r1[4:0] g3[4] g2[3:0] g1[4:0] b3[0]
 g3[3:0] b1[4:0] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]
1 | 7 6 6 6 | g2[5] g3[4] g3[5] r0[6:0] b3[0] b3[1] b2[4] g0[6:0] b2[5] b3[2] g2[4] b0[6:0]
 b3[3] b3[5] b3[4] r1[5:0] g2[3:0] g1[5:0] g3[3:0] b1[5:0] b2[3:0] r2[5:0] r3[5:0]
2 | 11 5 4 4 | r0[9:0] g0[9:0] b0[9:0] r1[4:0] r0[10] g2[3:0] g1[3:0] g0[10] b3[0] g3[3:0]
 b1[3:0] b0[10] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]
6 | 11 4 5 4 | r0[9:0] g0[9:0] b0[9:0] r1[3:0] r0[10] g3[4] g2[3:0] g1[4:0] g0[10] g3[3:0]
 b1[3:0] b0[10] b3[1] b2[3:0] r2[3:0] b3[0] b3[2] r3[3:0] g2[4] b3[3]
10 | 11 4 4 5 | r0[9:0] g0[9:0] b0[9:0] r1[3:0] r0[10] b2[4] g2[3:0] g1[3:0] g0[10] b3[0]
 g3[3:0] b1[4:0] b0[10] b2[3:0] r2[3:0] b3[1] b3[2] r3[3:0] b3[4] b3[3]
14 | 9 5 5 5 | r0[8:0] b2[4] g0[8:0] g2[4] b0[8:0] b3[4] r1[4:0] g3[4] g2[3:0] g1[4:0] b3[0]
 g3[3:0] b1[4:0] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]
18 | 8 6 5 5 | r0[7:0] g3[4] b2[4] g0[7:0] b3[2] g2[4] b0[7:0] b3[3] b3[4] r1[5:0] g2[3:0]
 g1[4:0] b3[0] g3[3:0] b1[4:0] b3[1] b2[3:0] r2[5:0] r3[5:0]
22 | 8 5 6 5 | r0[7:0] b3[0] b2[4] g0[7:0] g2[5] g2[4] b0[7:0] g3[5] b3[4] r1[4:0] g3[4]
 g2[3:0] g1[5:0] g3[3:0] b1[4:0] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]
26 | 8 5 5 6 | r0[7:0] b3[1] b2[4] g0[7:0] b2[5] g2[4] b0[7:0] b3[5] b3[4] r1[4:0] g3[4]
 g2[3:0] g1[4:0] b3[0] g3[3:0] b1[5:0] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]
30 | 6 6 6 6 | r0[5:0] g3[4] b3[0] b3[1] b2[4] g0[5:0] g2[5] b2[5] b3[2] g2[4] b0[5:0] g3[5]
 b3[3] b3[5] b3[4] r1[5:0] g2[3:0] g1[5:0] g3[3:0] b1[5:0] b2[3:0] r2[5:0] r3[5:0]
3 | 10 10 | r0[9:0] g0[9:0] b0[9:0] r1[9:0] g1[9:0] b1[9:0]
7 | 11 9 | r0[9:0] g0[9:0] b0[9:0] r1[8:0] r0[10] g1[8:0] g0[10] b1[8:0] b0[10]
11 | 12 8 | r0[9:0] g0[9:0] b0[9:0] r1[7:0] r0[10:11] g1[7:0] g0[10:11] b1[7:0] b0[10:11]
15 | 16 4 | r0[9:0] g0[9:0] b0[9:0] r1[3:0] r0[10:15] g1[3:0] g0[10:15] b1[3:0] b0[10:15]
"""


def _modes() -> dict[int, Mode6]:
    modes = {}
    for row in re.split(r"\n(?=\d)", _ROWS.strip()):
        number, sizes, layout = row.split("|")
        modes[int(number)] = _mode(int(number), sizes, layout)
    return modes


BC6_MODES: Final = _modes()
