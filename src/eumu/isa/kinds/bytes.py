"""Bytes of the common-ISA object file: what operand kinds write to and read from.

Numbers are little endian and nothing is padded.  Both sides know the kernel's tables, since
operands name variables, labels and strings by their place in them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NoReturn, TypeVar

from eumu.errors import FormatError
from eumu.isa.kinds.variables import (
    FIRST_USER_PREDICATE,
    FIRST_USER_SURFACE,
    FIRST_USER_VARIABLE,
    PREDEFINED,
    AddressVariable,
    Declared,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from eumu.records import dataclass

Version = tuple[int, int]
Word = TypeVar("Word")


class EncodeError(Exception):
    """An operand has no binary form; the writer adds the place."""


# Where the file's numbers of declared variables begin, by class.
FIRST: dict[type[Declared], int] = {
    Variable: FIRST_USER_VARIABLE,
    AddressVariable: 0,
    PredicateVariable: FIRST_USER_PREDICATE,
    SurfaceVariable: FIRST_USER_SURFACE,
    SamplerVariable: 0,
}


@dataclass(slots=True)
class Tables:
    """The tables of one kernel: declared variables by class and number, labels, strings."""

    variables: dict[type[Declared], dict[int, Declared]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    strings: Sequence[str] = ()
    # Numbers of the labels' names among the strings.
    label_names: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for kind in FIRST:
            self.variables[kind] = {
                d.predefined: d
                for d in PREDEFINED.values()
                if type(d) is kind and d.predefined is not None
            }

    def declare(self, declared: Declared) -> int:
        """Give a variable the next number of its class."""
        taken = self.variables[type(declared)]
        count = len(taken) - sum(d.predefined is not None for d in taken.values())
        number = FIRST[type(declared)] + count
        taken[number] = declared
        return number


class Packer:
    """Writes; `grf_bytes` is the size of a register, which offsets of `&V[n]` are counted in."""

    __slots__ = ("_label", "_numbers", "_string", "data", "grf_bytes", "shape", "version")

    def __init__(
        self,
        version: Version,
        grf_bytes: int,
        numbers: dict[Declared, int],
        label: Callable[[str], int],
        string: Callable[[str], int],
    ) -> None:
        self.data = bytearray()
        self.version, self.grf_bytes = version, grf_bytes
        # The shape of the data of an LSC instruction, which its address may follow from.
        self.shape: Any = None
        self._numbers, self._label, self._string = numbers, label, string

    def number(self, format: str, value: int, what: str) -> None:
        """A number in one of struct's formats."""
        try:
            self.data += struct.pack(f"<{format}", value)
        except struct.error:
            bits = 8 * struct.calcsize(f"<{format}")
            raise EncodeError(
                f"{what} {value:#x} does not fit the object file's {bits} bits"
            ) from None

    def u8(self, value: int, what: str = "number") -> None:
        self.number("B", value, what)

    def u16(self, value: int, what: str = "number") -> None:
        self.number("H", value, what)

    def u32(self, value: int, what: str = "number") -> None:
        self.number("I", value, what)

    def code(self, words: Sequence[Word], word: Word, what: str) -> None:
        """A byte that says which of `words` this is."""
        if word not in words:
            raise EncodeError(f"{what} '{word}' has no code")
        self.data.append(words.index(word))

    def variable(self, declared: Declared) -> int:
        """The number of a variable in the table of its class."""
        if declared.predefined is not None:
            return declared.predefined
        number = self._numbers.get(declared)
        if number is None:
            raise EncodeError(f"'{declared.name}' is not among the kernel's declarations")
        return number

    def label(self, name: str) -> None:
        """The number of a label in the kernel's table."""
        self.u16(self._label(name), "the number of a label")

    def string(self, text: str, format: str = "H") -> None:
        """The number of a string in the kernel's pool, in 16 bits or as `format` says."""
        self.number(format, self._string(text), "the number of a string")


class Unpacker:
    """Reads `data` from `pos` up to `end`; every failure is a FormatError that says where."""

    __slots__ = (
        *("_hidden", "data", "end", "grf_bytes", "name", "pos", "tables", "version"),
        *("labels", "uses"),
    )

    def __init__(
        self, data: bytes, pos: int, end: int, *, name: str, version: Version, grf_bytes: int
    ) -> None:
        self.data, self.pos, self.end, self.name = data, pos, end, name
        self.version, self.grf_bytes = version, grf_bytes
        self.tables = Tables()
        # Labels that were met, and the numbers of the strings and of the labels' names, each once
        # for every string and for every label.
        self.labels: set[int] = set()
        self.uses: list[int] = []
        self._hidden = 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise a FormatError at an offset of the file."""
        raise FormatError(f"{self.name}: offset {self.pos if at is None else at:#x}: {message}")

    def need(self, size: int, what: str) -> int:
        """Check that `size` bytes are left; returns where they begin, and moves behind them."""
        start = self.pos
        if size > self.end - start:
            self.fail(f"{what} needs {size} bytes, {self.end - start} are left")
        self.pos = start + size
        return start

    def number(self, format: struct.Struct, what: str) -> int:
        start = self.need(format.size, what)
        value: int = format.unpack_from(self.data, start)[0]
        return value

    def u8(self, what: str = "a number") -> int:
        value = self.data[self.need(1, what)]
        if self._hidden:
            value, self._hidden = value & ~self._hidden, 0
        return value

    def u16(self, what: str = "a number") -> int:
        return self.number(U16, what)

    def i16(self, what: str = "a number") -> int:
        return self.number(I16, what)

    def u32(self, what: str = "a number") -> int:
        return self.number(U32, what)

    def i32(self, what: str = "a number") -> int:
        return self.number(I32, what)

    def u64(self, what: str = "a number") -> int:
        return self.number(U64, what)

    def hide(self, bits: int) -> None:
        """Read the next byte with these bits as 0: the sub-opcode has them."""
        self._hidden = bits

    def zero(self, constant: bytes) -> None:
        """Bytes that are always the same."""
        start = self.need(len(constant), "a reserved field")
        padding = self.data[start : self.pos]
        if padding != constant:
            self.fail(f"a reserved field is {padding.hex()}, not {constant.hex()}", start)

    def code(self, words: Sequence[Word], what: str) -> Word:
        """Which of `words` the next byte names."""
        start, number = self.pos, self.u8(what)
        if number >= len(words):
            self.fail(f"{what} has code {number}; there are 0 to {len(words) - 1}", start)
        return words[number]

    def one_of(self, numbers: Sequence[int], what: str) -> int:
        """The place of the next byte among `numbers`."""
        start, number = self.pos, self.u8(what)
        if number not in numbers:
            self.fail(f"{what} has code {number}, which has no meaning", start)
        return numbers.index(number)

    def variable(self, kind: type[DeclaredClass], number: int, at: int) -> DeclaredClass:
        """The variable that has a number; `at` is the offset of the number."""
        variable = self.tables.variables[kind].get(number)
        if not isinstance(variable, kind):
            self.fail(f"there is no {_CLASSES[kind]} variable of number {number}", at)
        return variable

    def label(self) -> str:
        start, number = self.pos, self.u16("a label")
        if number >= len(self.tables.labels):
            self.fail(f"label {number} is not one of {len(self.tables.labels)}", start)
        if number not in self.labels:
            self.labels.add(number)
            self.uses.append(self.tables.label_names[number])
        return self.tables.labels[number]

    def string(self, format: struct.Struct | None = None) -> str:
        """A string that is named by its number, in 16 bits or as `format` says."""
        start, number = self.pos, self.number(format or U16, "a string")
        if number >= len(self.tables.strings):
            self.fail(f"string {number} is not one of {len(self.tables.strings)}", start)
        self.uses.append(number)
        return self.tables.strings[number]


DeclaredClass = TypeVar("DeclaredClass", bound=Declared)

U16, I16, U32, I32, U64 = (struct.Struct(f"<{c}") for c in "HhIiQ")
_CLASSES: dict[type[Declared], str] = {
    Variable: "general",
    AddressVariable: "address",
    PredicateVariable: "predicate",
    SurfaceVariable: "surface",
    SamplerVariable: "sampler",
}
