"""What is asked of the SPIR-V in a program: whether its lanes count on running together, and how
accesses to memory are aligned."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

_MAGIC: Final = 0x0723_0203
_HEADER: Final = 5  # words
_LINE, _EXT_INST, _POINTER, _CONSTANT, _LOAD, _STORE, _NO_LINE = 8, 12, 32, 43, 61, 62, 317
_COPIES: Final = frozenset({63, 64})  # OpCopyMemory, OpCopyMemorySized
_CAPABILITY: Final = 17
_BARRIER: Final = 224  # OpControlBarrier
_SUBGROUP: Final = 3  # a scope
_INPUT: Final = 1  # a storage class
_ALIGNED: Final = 2  # a bit of memory operands
_VECTOR_ACCESS: Final = range(171, 182)  # vloadn to vstorea_halfn of OpenCL's instructions
# What may give a pointer; each has its type and its number first.
_POINTERS: Final = frozenset({55, 57, 59, 61, 65, 66, 67, 70, 120, 121, 122, 123, 124, 169, 245})
# Words that an instruction has at least, of those that are looked at.
_WORDS: Final = {
    _LINE: 4,
    _CAPABILITY: 2,
    _EXT_INST: 5,
    _POINTER: 4,
    _CONSTANT: 4,
    _LOAD: 4,
    _STORE: 3,
    _BARRIER: 4,
}
_WORDS_OF_POINTERS: Final = dict.fromkeys(_POINTERS, 3)
_NAMES: Final = (b"sub_group_barrier", b"simd_barrier")
# Capabilities of modules that see their sub-groups: Groups, SubgroupDispatch, GroupNonUniform and
# its kinds, and Intel's: shuffles, blocks of memory and images, prefetches, matrices.
_OF_SUBGROUPS: Final = frozenset(
    {18, 58, *range(61, 69), *range(5568, 5571), 5579, 6220, 6228, 6236}
)
_SUBGROUP_NAMES: Final = (b"sub_group_", b"simd_")  # in names of functions without an instruction

Words = tuple[int, ...]


def _words(module: bytes) -> Words:
    return struct.unpack(f"<{len(module) // 4}I", module[: len(module) & ~3])


def _instructions(words: Words) -> Iterator[tuple[int, Words]]:
    """Opcodes, and all words of each; ends with opcode -1 where the module is damaged."""
    at = _HEADER
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        least = _WORDS.get(opcode) or _WORDS_OF_POINTERS.get(opcode, 1)
        if length < least or at + length > len(words):
            yield -1, ()
            return
        yield opcode, words[at : at + length]
        at += length


def has_subgroup_barrier(module: bytes) -> bool | None:
    """Whether a module has a barrier of a sub-group; None if it cannot be told.

    The compiler makes no instruction of it, as lanes of a thread run together.
    """
    words = _words(module)
    if len(words) <= _HEADER or words[0] != _MAGIC or any(name in module for name in _NAMES):
        return None
    constants: dict[int, int] = {}
    found: bool | None = False
    for opcode, inst in _instructions(words):
        if opcode == _CONSTANT:
            constants[inst[2]] = inst[3]
        elif opcode == _BARRIER and inst[1] not in constants:
            found = None
        elif opcode == _BARRIER and constants[inst[1]] == _SUBGROUP:
            return True
        elif opcode < 0:
            return None
    return found


def sees_subgroups(module: bytes) -> bool:
    """Whether a module asks for anything that is done by or told of sub-groups."""
    words = _words(module)
    if len(words) <= _HEADER or words[0] != _MAGIC:
        return False
    if any(name in module for name in _SUBGROUP_NAMES):
        return True
    found = (inst[1] for opcode, inst in _instructions(words) if opcode == _CAPABILITY)
    return not _OF_SUBGROUPS.isdisjoint(found)


def promised_alignments(module: bytes) -> dict[int, int]:
    """By line number: bytes of which all addresses that the line loads from or stores to are
    multiples, as the program promises; lines of which that cannot be told have 1."""
    words, alignments = _words(module), dict[int, int]()
    if len(words) <= _HEADER or words[0] != _MAGIC:
        return alignments
    classes: dict[int, int] = {}  # of pointer types
    types: dict[int, int] = {}  # of values
    line = 0
    for opcode, inst in _instructions(words):
        if opcode < 0:
            return {}
        if opcode in _POINTERS:
            types[inst[2]] = inst[1]
        if opcode == _POINTER:
            classes[inst[1]] = inst[2]
        elif opcode in (_LINE, _NO_LINE):
            line = inst[2] if opcode == _LINE else 0
        elif opcode in _COPIES or (opcode == _EXT_INST and inst[4] in _VECTOR_ACCESS):
            alignments[line] = 1
        elif opcode in (_LOAD, _STORE):
            pointer, operands = (inst[3], inst[4:]) if opcode == _LOAD else (inst[1], inst[3:])
            if classes.get(types.get(pointer, 0)) != _INPUT:
                alignments[line] = min(alignments.get(line, 1 << 16), _alignment(operands))
    alignments.pop(0, None)
    return alignments


def _alignment(operands: Words) -> int:
    """Of memory operands: a mask, then the alignment where the mask says so."""
    if len(operands) < 2 or not operands[0] & _ALIGNED:
        return 1
    size = operands[1]
    return size if size & (size - 1) == 0 and size else 1
