"""SPIR-V whose indices of arrays are looked at when it runs.

The compiler makes an address of `s.b[i]` early, and what is `b` and what is beside it is known no
more.  The SPIR-V says it: each index that a load or a store goes through is given to a function of
the module, together with the length of the array.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from eumu.errors import Place
from eumu.records import dataclass

CHECK: Final = "__eumu_index"  # takes the number of the site, the length, and the index
_HEADER: Final = 5  # words
_NAME, _STRING, _LINE, _INT, _ARRAY, _STRUCT, _POINTER, _CONSTANT = 5, 7, 8, 21, 28, 30, 32, 43
_VECTOR, _VOID, _FUNCTION, _CALL, _LOAD, _STORE, _BITCAST, _NO_LINE = (
    23,
    19,
    54,
    57,
    61,
    62,
    124,
    317,
)
_END: Final = 56  # OpFunctionEnd
_UCONVERT: Final = 113
_COPIES: Final = (63, 64)  # OpCopyMemory, OpCopyMemorySized
_CHAINS: Final = {65: 4, 66: 4, 67: 5, 70: 5}  # where the indices of an access chain begin
_VARIABLE: Final = 59
_OWN: Final = (4, 7)  # local and private memory
_SHARED: Final = (0, 5, 8)  # constant, global and generic memory
_LENGTH_BITS: Final = 64
# Values that may be indices or pointers: instructions with a type and a number first.
_VALUES: Final = frozenset(
    (
        *(1, 12, 43, 46, 55, 57, 59, 61, *range(65, 71), *range(77, 85), *range(109, 125)),
        *(*range(126, 206), *range(227, 243), 245),
    )
)

Words = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """An index: where it stands, what is indexed, and how many elements that has."""

    place: Place
    name: str
    length: int


@dataclass
class _Module:
    """What is known of a module before it is written again."""

    words: Words
    types: dict[int, Words] = field(default_factory=dict)  # instructions that declare them
    of: dict[int, int] = field(default_factory=dict)  # the types of values
    constants: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    strings: dict[int, str] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)  # pointers that something goes through
    variables: set[int] = field(default_factory=set)
    open_ended: dict[int, bool] = field(default_factory=dict)  # of access chains
    check: int = 0

    def instructions(self) -> Iterator[tuple[int, Words]]:
        at = _HEADER
        while at < len(self.words):
            length = self.words[at] >> 16
            if not length or at + length > len(self.words):
                raise ValueError("a damaged module")
            yield self.words[at] & 0xFFFF, self.words[at : at + length]
            at += length

    def type_number(self, opcode: int, *operands: int) -> int:
        """The number of a declared type; 0 if there is none."""
        numbers = (
            n for n, t in self.types.items() if (t[0] & 0xFFFF, *t[2:]) == (opcode, *operands)
        )
        return next(numbers, 0)


def with_checks(module: bytes) -> tuple[bytes, tuple[Site, ...]]:
    """The module with a call for each index, and what their sites are; ValueError for a module that
    is damaged or has no such function."""
    m = _read(struct.unpack(f"<{len(module) // 4}I", module[: len(module) & ~3]))
    writer = _Writer(m)
    for opcode, inst in m.instructions():
        writer.take(opcode, inst)
    words = (*m.words[:3], writer.bound, m.words[4], *writer.head, *writer.constants, *writer.body)
    return struct.pack(f"<{len(words)}I", *words), tuple(writer.sites)


def _read(words: Words) -> _Module:
    m = _Module(words)
    bases: dict[int, int] = {}
    for opcode, inst in m.instructions():
        if opcode in (_VOID, _INT, _VECTOR, _ARRAY, _STRUCT, _POINTER):
            m.types[inst[1]] = inst
        elif opcode == _CONSTANT:
            m.constants[inst[2]] = inst[3] | (inst[4] << 32 if len(inst) > 4 else 0)
        elif opcode in (_NAME, _STRING):
            (m.names if opcode == _NAME else m.strings)[inst[1]] = _text(inst[2:])
        elif opcode in _CHAINS or opcode == _BITCAST:
            bases[inst[2]] = inst[3]
        elif opcode == _LOAD:
            m.used.add(inst[3])
        elif opcode == _STORE:
            m.used.add(inst[1])
        elif opcode in _COPIES:
            m.used.update(inst[1:3])
        if opcode == _VARIABLE:
            m.variables.add(inst[2])
        if opcode in _VALUES:
            m.of[inst[2]] = inst[1]
        if opcode in _CHAINS:
            m.open_ended[inst[2]] = _walked(m, opcode, inst)[1]
    for pointer in [*m.used]:
        while pointer in bases and (pointer := bases[pointer]) not in m.used:
            m.used.add(pointer)
    m.check = next((n for n, name in m.names.items() if name == CHECK), 0)
    if not m.check:
        raise ValueError(f"the module has no function {CHECK}")
    return m


def _text(words: Words) -> str:
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode("utf-8", "replace")


class _Writer:
    """Writes a module again, instruction by instruction; constants go in front of all functions."""

    def __init__(self, m: _Module) -> None:
        self.m, self.bound = m, m.words[3]
        self.head: list[int] = []
        self.constants: list[int] = []
        self.body: list[int] = []
        self.sites: list[Site] = []
        self.place = Place("", 0)
        self.long, self.void = m.type_number(_INT, _LENGTH_BITS, 0), m.type_number(_VOID)
        self._is_body = self._is_check = False

    def take(self, opcode: int, inst: Words) -> None:
        """Write an instruction, and the checks behind it."""
        if opcode == _FUNCTION:
            self._is_body, self._is_check = True, inst[2] == self.m.check
        if opcode == _LINE:
            self.place = Place(self.m.strings.get(inst[1], ""), inst[2], inst[3] or None)
        elif opcode in (_NO_LINE, _END):
            self.place = Place("", 0)
        (self.body if self._is_body else self.head).extend(inst)
        if opcode in _CHAINS and not self._is_check and inst[2] in self.m.used:
            for index, length, name in self._indices(opcode, inst):
                self._check(index, length, name)

    def _indices(self, opcode: int, inst: Words) -> Iterator[tuple[int, int, str]]:
        """The indices of arrays in an access chain, with the lengths of these."""
        base = types_of(self.m, inst[3])
        if base is None or base[2] not in (*_OWN, *_SHARED):
            return
        for index, array, open_ended in _walked(self.m, opcode, inst)[0]:
            length = 0 if open_ended else self.m.constants.get(array[3], 0)
            if length and self.m.constants.get(index, length) >= length:
                yield index, length, self.m.names.get(inst[3], "")

    def _check(self, index: int, length: int, name: str) -> None:
        kind = self.m.types.get(self.m.of.get(index, 0))
        if kind is None or kind[0] & 0xFFFF != _INT or not self.place.line:
            return
        site = self._constant(len(self.sites))
        self.sites.append(Site(self.place, name, length))
        if kind[2] != _LENGTH_BITS:
            wide = self._number()
            self.body += (4 << 16 | _UCONVERT, self.long, wide, index)
            index = wide
        arguments = site, self._constant(length), index
        self.body += (7 << 16 | _CALL, self.void, self._number(), self.m.check, *arguments)

    def _constant(self, value: int) -> int:
        number = self._number()
        low, high = value & 0xFFFF_FFFF, value >> 32
        self.constants += (5 << 16 | _CONSTANT, self.long, number, low, high)
        return number

    def _number(self) -> int:
        self.bound += 1
        return self.bound - 1


def types_of(m: _Module, value: int) -> Words | None:
    """The declaration of a value's type, if it is a pointer."""
    declared = m.types.get(m.of.get(value, 0))
    return declared if declared is not None and declared[0] & 0xFFFF == _POINTER else None


def _walked(m: _Module, opcode: int, chain: Words) -> tuple[list[tuple[int, Words, bool]], bool]:
    """The indices of arrays in an access chain, each with its type and whether more
    elements may stand behind it; and whether more may stand behind what the chain ends at."""
    base, steps, open_ended = types_of(m, chain[3]), [], _is_open_ended(m, chain[3])
    inner = None if base is None else m.types.get(base[3])
    for index in chain[_CHAINS[opcode] :]:
        kind = 0 if inner is None else inner[0] & 0xFFFF
        if inner is None or kind not in (_ARRAY, _STRUCT):
            break
        if kind == _ARRAY:
            steps.append((index, inner, open_ended))
            inner = m.types.get(inner[2])
            continue
        last = len(inner) - 3
        member = m.constants.get(index, last + 1)
        open_ended = open_ended and member >= last
        inner = m.types.get(inner[2 + member]) if member <= last else None
    return steps, open_ended


def _is_open_ended(m: _Module, pointer: int) -> bool:
    """Whether more than a pointer's type says may stand behind it: nothing tells the size of memory
    that another function gave, and the last member of a structure there may stand for more."""
    declared = types_of(m, pointer)
    if pointer in m.variables or (declared is not None and declared[2] in _OWN):
        return False
    return m.open_ended.get(pointer, True)
