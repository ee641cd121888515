"""Operands of the media samplers and of motion estimation.

Source: vISA pages "AVS", "VME_IME"; of video analytics no page, but the front end's reader and
printer of object files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import integer_literal
from eumu.isa.kinds.operands import Immediate
from eumu.isa.kinds.vector import SourceKind
from eumu.records import dataclass
from eumu.types import UB


class WordKind(Kind):
    """One of a few words, written as they are; in bytes the number that each has.

    Bits of the byte that are not in `mask` are not looked at.  The manual shows the `usual` word,
    else the first.
    """

    _pattern = re.compile(r"[\w+]+")

    def __init__(
        self,
        what: str,
        *words: str,
        numbers: Sequence[int] = (),
        mask: int = 0xFF,
        usual: str = "",
    ) -> None:
        self.what, self.words, self.mask = what, words, mask
        self.numbers = tuple(numbers) or tuple(range(len(words)))
        self.manual, self.example = f"{what}: one of {', '.join(words)}", usual or words[0]

    def parse(self, cursor: Cursor, names: Names) -> str:
        start = cursor.skip()
        match = cursor.match(self._pattern)
        word = match.group() if match else ""
        if word not in self.words:
            cursor.fail(f"{self.what} '{word}' is not one of {', '.join(self.words)}", start=start)
        return word

    def print(self, operand: str) -> str:
        return operand

    def pack(self, operand: str, out: Packer) -> None:
        out.u8(self.numbers[self.words.index(operand)])

    def unpack(self, source: Unpacker) -> str:
        at, byte = source.pos, source.u8(self.what) & self.mask
        if byte not in self.numbers:
            source.fail(f"{self.what} has code {byte}, which has no meaning", at)
        return self.words[self.numbers.index(byte)]


class WordSourceKind(SourceKind):
    """A scalar source, or a word that stands for a constant: its place among the words."""

    def __init__(self, what: str, *words: str) -> None:
        super().__init__(scalar=True)
        self.words = words
        self.manual = f"{what}: one of {', '.join(words)}, or an element of a variable"
        self.example = words[0]
        self._word = re.compile(rf"({'|'.join(words)})\b")

    def forms(self, classes: str) -> list[tuple[str, str]]:
        return [(self.manual, self.example)]

    def parse(self, cursor: Cursor, names: Names) -> Any:
        if match := cursor.match(self._word):
            return Immediate(self.words.index(match.group(1)), UB)
        return super().parse(cursor, names)

    def print(self, operand: Any) -> str:
        if isinstance(operand, Immediate) and operand.type is UB and operand.bits < len(self.words):
            return self.words[operand.bits]
        return super().print(operand)


@dataclass(frozen=True, slots=True)
class ConvolveMode:
    """`VA_CONV_16x4 15x15`: pixels of the result, size of the kernel."""

    result: str
    kernel: str


class ConvolveModeKind(Kind):
    """Both share a byte; `kernel_bit` is the bit of the kernel's size, as the front end reads it.

    Its printer looks elsewhere.
    """

    _kernels = ("15x15", "31x31")

    def __init__(self, result: WordKind, *, kernel_bit: int) -> None:
        self.result, self.kernel_bit = result, kernel_bit
        self.manual = f"{result.manual}; then the size of the kernel, 15x15 or 31x31"
        self.example = f"{result.example} 15x15"
        self._kernel = WordKind("the size of the kernel", *self._kernels)

    def parse(self, cursor: Cursor, names: Names) -> ConvolveMode:
        return ConvolveMode(self.result.parse(cursor, names), self._kernel.parse(cursor, names))

    def print(self, operand: ConvolveMode) -> str:
        return f"{operand.result} {operand.kernel}"

    def pack(self, operand: ConvolveMode, out: Packer) -> None:
        result = self.result.numbers[self.result.words.index(operand.result)]
        out.u8(result | self._kernels.index(operand.kernel) << self.kernel_bit)

    def unpack(self, source: Unpacker) -> ConvolveMode:
        at, byte = source.pos, source.u8("a mode")
        result, kernel = byte & ((1 << self.kernel_bit) - 1), byte >> self.kernel_bit
        if result not in self.result.numbers or kernel > 1:
            source.fail(f"the mode is {byte:#04x}, which has no meaning", at)
        word = self.result.words[self.result.numbers.index(result)]
        return ConvolveMode(word, self._kernels[kernel])


@dataclass(frozen=True, slots=True)
class SearchModes:
    """`(0,3)`: what is streamed, and how reference pictures are searched (page "VME_IME")."""

    stream: int
    search: int


class SearchModesKind(Kind):
    """Two numbers, 0 to 3 each."""

    manual = (
        "stream mode (0 none, 1 out, 2 in, 3 both) and search control (0 to 2 one reference: single"
        " record with one or two starts, dual record; 3 two references): (0,0)"
    )
    example = "(0,0)"

    def parse(self, cursor: Cursor, names: Names) -> SearchModes:
        cursor.expect("(", "and the modes, as in (0,0)")
        stream = self._number(cursor, "stream mode")
        cursor.expect(",", "between stream mode and search control")
        search = self._number(cursor, "search control")
        cursor.expect(")")
        return SearchModes(stream, search)

    def _number(self, cursor: Cursor, what: str) -> int:
        start = cursor.skip()
        number = integer_literal(cursor)
        if number > 3:
            cursor.fail(f"{what} {number} is not 0 to 3", start=start)
        return number

    def print(self, operand: SearchModes) -> str:
        return f"({operand.stream},{operand.search})"

    def pack(self, operand: SearchModes, out: Packer) -> None:
        out.u8(operand.stream)
        out.u8(operand.search)

    def unpack(self, source: Unpacker) -> SearchModes:
        at, stream, search = source.pos, source.u8("a stream mode"), source.u8("a search control")
        if max(stream, search) > 3:
            source.fail(f"modes {stream} and {search} have no meaning", at)
        return SearchModes(stream, search)
