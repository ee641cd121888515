"""Element types of the machine: names, sizes, NumPy storage.

The names are vISA's (`ud`, `d`, … `hf`, `bf`); see the vISA page "Datatypes".  A type knows how
a lane is stored, not what an instruction does with it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from eumu.records import dataclass

if TYPE_CHECKING:
    import numpy as np


class Kind(Enum):
    """What the bits of an element mean."""

    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOAT = "float"
    PACKED = "packed"  # immediate vectors: v, uv, vf
    BOOL = "bool"  # one predicate bit per lane


@dataclass(frozen=True, slots=True)
class Type:
    """An element type; `size` is in bytes (0 for a predicate bit)."""

    name: str
    size: int
    kind: Kind
    storage: str  # NumPy dtype of a lane; float types without one are held as their bits

    def __hash__(self) -> int:
        return hash(self.name)  # names differ, and types are keys of many tables

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    @property
    def bits(self) -> int:
        return self.size * 8

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """How a lane lies in memory (`bf` as its 16 bits)."""
        import numpy as np  # here, because reading and printing programs does without

        return np.dtype(self.storage)

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_int(self) -> bool:
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        return self.kind is Kind.SIGNED

    @property
    def minimum(self) -> int:
        """The least value of an integer type."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def maximum(self) -> int:
        """The greatest value of an integer type."""
        return (1 << (self.bits - self.is_signed)) - 1


UB = Type("ub", 1, Kind.UNSIGNED, "u1")
B = Type("b", 1, Kind.SIGNED, "i1")
UW = Type("uw", 2, Kind.UNSIGNED, "u2")
W = Type("w", 2, Kind.SIGNED, "i2")
UD = Type("ud", 4, Kind.UNSIGNED, "u4")
D = Type("d", 4, Kind.SIGNED, "i4")
UQ = Type("uq", 8, Kind.UNSIGNED, "u8")
Q = Type("q", 8, Kind.SIGNED, "i8")
HF = Type("hf", 2, Kind.FLOAT, "f2")
BF = Type("bf", 2, Kind.FLOAT, "u2")
F = Type("f", 4, Kind.FLOAT, "f4")
DF = Type("df", 8, Kind.FLOAT, "f8")
V = Type("v", 4, Kind.PACKED, "u4")
UV = Type("uv", 4, Kind.PACKED, "u4")
VF = Type("vf", 4, Kind.PACKED, "u4")
BOOL = Type("bool", 0, Kind.BOOL, "?")

TYPES: dict[str, Type] = {
    t.name: t for t in (UB, B, UW, W, UD, D, UQ, Q, HF, BF, F, DF, V, UV, VF, BOOL)
}
INTEGERS = (UB, B, UW, W, UD, D, UQ, Q)
FLOATS = (HF, BF, F, DF)


def integer(bits: int, *, signed: bool) -> Type:
    """The integer type of 8, 16, 32 or 64 bits.

    >>> integer(16, signed=True)
    w
    """
    return {
        (8, False): UB,
        (8, True): B,
        (16, False): UW,
        (16, True): W,
        (32, False): UD,
        (32, True): D,
        (64, False): UQ,
        (64, True): Q,
    }[bits, signed]
