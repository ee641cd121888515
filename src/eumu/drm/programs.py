"""The programs that a program has built: names of the kernels in its heap, and lines of source.

The driver's ELF has a section for each thing: zebin's `.text.NAME`, or in older formats the device
binary and its debug information, patch tokens both.  The layer of the preloaded library sends it.
Files are a program's own: what does not fit has no names.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from eumu.drm.protocol import Built
from eumu.errors import Fault, Source, Span
from eumu.native.words import scan
from eumu.zebin import damage

__all__ = ["Kernel", "Programs", "kernels_of"]

_MOST_BYTES: Final = 256 << 20  # of programs that are kept; the oldest are forgotten
_NEAR: Final = 0.875  # of the words of a kernel, whose addresses the driver has written over
_TEXT: Final = ".text."
_MAGIC: Final = b"CTNI"
# Both headers have 28 bytes: of a device binary the number of kernels and the size of the program's
# patch list are words 4 and 6; of debug information the number of kernels is word 6.
_HEADER: Final = struct.Struct("<4s6I")
_KERNEL: Final = struct.Struct("<IQ7I")
_DEBUG: Final = struct.Struct("<3I")
_MAIN: Final = ("1", "<stdin>", "")  # what the driver calls the source

Row = tuple[int, str, int, int]  # offset in the code, file, line, column


class Kernel:
    """A kernel that the driver's compiler made: its name, its code, its source.

    `debug` is an ELF with DWARF's table of lines, empty without -g.
    """

    def __init__(self, name: str, code: bytes, source: Source) -> None:
        self.name, self.code, self.source, self.debug = name, code, source, b""

    @cached_property
    def _rows(self) -> list[Row]:
        return sorted(_table(self.debug)) if self.debug else []

    @cached_property
    def _offsets(self) -> list[int]:
        return [item.offset for item in scan(self.code)]

    def place(self, instruction: int) -> Span | None:
        """The place in the source of an instruction, counted from 0; None without lines."""
        if not self._rows or not 0 <= instruction < len(self._offsets):
            return None
        k = bisect_right(self._rows, self._offsets[instruction], key=lambda row: row[0]) - 1
        if k < 0 or not self._rows[k][2]:
            return None
        _, file, line, column = self._rows[k]
        source = self.source if file in _MAIN else Source(file, "")
        return Span(source, line, max(column, 1), line, max(column, 1) + 1)


@dataclass(slots=True)
class Programs:
    """What was built so far, the latest first."""

    _built: list[tuple[Built, list[Kernel] | None]] = field(default_factory=list)
    _by_title: dict[str, Kernel] = field(default_factory=dict)

    def add(self, built: Built) -> None:
        """Note a program; it is read when a name is asked for."""
        self._built.insert(0, (built, None))
        size = 0
        for k, (kept, _) in enumerate(self._built):
            size += len(kept.binary) + len(kept.source)
            if size > _MOST_BYTES and k:
                del self._built[k:]
                break

    def title(self, code: bytes) -> str | None:
        """The name of the kernel that code is of; of several that are equal, all names."""
        found = [k for k in self._kernels() if k.code[: len(code)] == code]
        if not found:  # addresses in the code are the driver's
            found = [k for k in self._kernels() if _is_near(k.code, code)][:1]
        if not found:
            return None
        title = " or ".join(dict.fromkeys(kernel.name for kernel in found))
        self._by_title[title] = found[0]
        return title

    def place(self, span: Span) -> Span | None:
        """The place in the source of an instruction of a kernel that has got its name here."""
        kernel = self._by_title.get(span.source.name.removesuffix(".native"))
        return None if kernel is None else kernel.place(span.line - 1)

    def notes(self, span: Span | None) -> tuple[str, ...]:
        """The line of the program's source, where it was built with -g."""
        place = None if span is None else self.place(span)
        if place is None:
            return ()
        text = place.source.line(place.line).strip()
        return (f"the source is {place}: {text}" if text else f"the source is {place}",)

    def explained(self, error: Exception) -> str:
        """What an error says, a fault with its line of source."""
        notes = self.notes(error.span) if isinstance(error, Fault) else ()
        return "\n".join([str(error), *(f"  note: {note}" for note in notes)])

    def _kernels(self) -> Iterator[Kernel]:
        for k, (built, kernels) in enumerate(self._built):
            if kernels is None:
                kernels = kernels_of(built)
                self._built[k] = built, kernels
            yield from kernels


def kernels_of(built: Built) -> list[Kernel]:
    """The kernels of a program, those that can be read of a damaged file."""
    source = Source("source.cl", built.source.decode("utf-8", "replace"))
    found: list[Kernel] = []
    debug: dict[str, bytes] = {}
    with _trusting_nothing():
        for name, data in _sections(built.binary):
            if name.startswith(_TEXT):
                found.append(Kernel(name.removeprefix(_TEXT), data, source))
            elif name.endswith("Debug") and data[:4] == _MAGIC:
                debug = dict(_debug(data))
            elif name.endswith("Binary") and data[:4] == _MAGIC:
                found += (Kernel(title, code, source) for title, code in _codes(data))
    for kernel in found:
        kernel.debug = debug.get(kernel.name, b"")
    return found


@contextmanager
def _trusting_nothing() -> Iterator[None]:
    """What is said of damage ends the reading: names and lines are extras."""
    try:
        yield
    except damage():
        return


def _sections(data: bytes) -> Iterator[tuple[str, bytes]]:
    from elftools.elf.elffile import ELFFile

    left = len(data)
    for section in ELFFile(io.BytesIO(data)).iter_sections():
        if section.name.startswith(_TEXT) or section.name.endswith(("Binary", "Debug")):
            left -= section["sh_size"]
            if left < 0:
                return  # sections that share bytes could ask for far more than the file has
            yield section.name, section.data()


def _codes(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and native code of the kernels of a device binary."""
    *_, count, _, patches = _HEADER.unpack_from(data)
    at = _HEADER.size + patches
    for _ in range(count):
        _, _, name, patches, code, *heaps, unpadded = _KERNEL.unpack_from(data, at)
        at += _KERNEL.size
        yield _name(data[at : at + name]), data[at + name : at + name + min(code, unpadded)]
        at += name + code + sum(heaps) + patches


def _debug(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and ELF files of the kernels of debug information."""
    count = _HEADER.unpack_from(data)[-1]
    at = _HEADER.size
    for _ in range(count):
        name, visa, native = _DEBUG.unpack_from(data, at)
        at += _DEBUG.size
        yield _name(data[at : at + name]), data[at + name : at + name + visa]
        at += name + visa + native


def _name(data: bytes) -> str:
    return data.partition(b"\0")[0].decode()


def _is_near(known: bytes, code: bytes) -> bool:
    if len(known) < len(code):
        return False
    places = range(0, len(code), 8)
    equal = sum(known[k : k + 8] == code[k : k + 8] for k in places)
    return equal >= _NEAR * len(places)


def _table(debug: bytes) -> list[Row]:
    """The table of lines; the kernel begins at 0."""
    from elftools.elf.elffile import ELFFile

    found: list[Row] = []
    with _trusting_nothing():
        info = ELFFile(io.BytesIO(debug)).get_dwarf_info(relocate_dwarf_sections=False)
        for unit in info.iter_CUs():
            program = info.line_program_for_CU(unit)
            if program is not None:
                found += _states(program)
    return found


def _states(program: Any) -> Iterator[Row]:
    files = program["file_entry"]
    for entry in program.get_entries():
        state = entry.state
        if state is not None and not state.end_sequence:
            file = files[state.file - 1].name.decode("utf-8", "replace")
            yield state.address, file, state.line, state.column
