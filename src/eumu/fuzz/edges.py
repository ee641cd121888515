"""Bits of elements that programs of every kind are tried with: the ends of types and of ranges."""

from __future__ import annotations

from typing import Final

EDGES: Final = {
    "ub": [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF],
    "b": [0, 1, 2, 0x7F, 0x80, 0x81, 0xFF],
    "uw": [0, 1, 3, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF],
    "w": [0, 1, 3, 0x7FFF, 0x8000, 0x8001, 0xFFFF],
    "ud": [0, 1, 31, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF],
    "d": [0, 1, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF],
    "uq": [0, 1, 63, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1],
    "q": [0, 1, 65, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1],
    "hf": [0, 0x8000, 1, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x3555],
    "f": [
        *(0, 0x80000000, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3EAAAAAB),
        *(0x4B7FFFFF, 0x4F000000, 0xCF000000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000),
    ],
    "df": [
        *(0, 1 << 63, 1, 0xFFFFFFFFFFFFF, 1 << 52, 0x3FF0000000000000, 0xBFF0000000000000),
        *(0x3FD5555555555555, 0x41DFFFFFFFC00000, 0xC1E0000000000000, 0x43E0000000000000),
        *(0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000),
    ],
}
