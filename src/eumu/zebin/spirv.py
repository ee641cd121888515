"""What is asked of the SPIR-V in a program: whether its lanes count on running together."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["has_subgroup_barrier"]

_MAGIC: Final = 0x0723_0203
_HEADER: Final = 5  # words
_CONSTANT, _BARRIER = 43, 224  # OpConstant, OpControlBarrier
_SUBGROUP: Final = 3  # a scope
_NAMES: Final = (b"sub_group_barrier", b"simd_barrier")


def has_subgroup_barrier(module: bytes) -> bool:
    """Whether a module has a barrier of a sub-group; also if it cannot be told.

    The compiler makes no instruction of it, as lanes of a thread run together.
    """
    words = struct.unpack(f"<{len(module) // 4}I", module[: len(module) & ~3])
    if len(words) <= _HEADER or words[0] != _MAGIC or any(name in module for name in _NAMES):
        return True
    constants: dict[int, int] = {}
    at = _HEADER
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if length == 0 or at + length > len(words):
            return True
        if opcode == _CONSTANT and length >= 4:
            constants[words[at + 2]] = words[at + 3]
        if opcode == _BARRIER and constants.get(words[at + 1], _SUBGROUP) == _SUBGROUP:
            return True
        at += length
    return False
