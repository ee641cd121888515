"""The programs that a program has built: names of the kernels in its heap, lines of source, and
where in their constants the first global ids are.

The driver's ELF has a section for each thing: zebin's `.text.NAME`, or in older formats the device
binary and its debug information, patch tokens both.  The layer of the preloaded library sends it.
Files are a program's own: what does not fit has no names.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Final

from eumu.drm.protocol import Built
from eumu.errors import Place, Source
from eumu.exec.grid import Dim3
from eumu.records import dataclass
from eumu.runtime.native_code import KnownCode
from eumu.runtime.sources import Sources
from eumu.zebin import damage, read_lines
from eumu.zebin.lines import lines_of_code

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
_FILES: Final = Sources()  # headers, and what SPIR-V was made of

_ITEM: Final = struct.Struct("<2I")  # of a patch list: what it is, how many bytes it has
_PARAMETER: Final = struct.Struct("<5I")  # kind, argument, place, size, place in what is given
_DATA_PARAMETER: Final = 17
_GLOBAL_OFFSET: Final = 16
_SUBGROUPS: Final = b"sub_group"  # in the names of all functions for them

Lines = list[tuple[int, int, Place]]  # of the code from a byte on, to another


class DriverKernel:
    """A kernel that the driver's compiler made: its name, its code, its source.

    `lines` reads DWARF's table, which is empty without -g; `offset_at` are the places of the first
    global ids in the constants that all threads have, if it reads them.
    """

    def __init__(
        self,
        name: str,
        code: bytes,
        source: Source,
        offset_at: Dim3 | None = None,
    ) -> None:
        self.name, self.code, self.source, self.offset_at = name, code, source, offset_at
        self.lines: Callable[[], Lines] = list

    @property
    def known(self) -> KnownCode:
        """What it says of its code in memory."""
        together = not self.source.text or _SUBGROUPS in self.source.text.encode()
        return KnownCode(self.name, self.line_of, self.offset_at, lockstep=together)

    @cached_property
    def _lines(self) -> Lines:
        return self.lines()

    def line_of(self, offset: int) -> Place | None:
        """The line of the source that the code at an offset comes from; None without lines."""
        k = bisect_right(self._lines, offset, key=lambda stretch: stretch[0]) - 1
        if k < 0 or offset >= self._lines[k][1]:
            return None
        return self._shown(self._lines[k][2])

    def _shown(self, place: Place) -> Place:
        """A place with what people call its file, and its text."""
        calls = tuple(self._shown(call) for call in place.inlined)
        if place.file.rpartition("/")[2] not in _MAIN:
            return _FILES.place(replace(place, inlined=calls), access=False)
        text = self.source.line(place.line)
        return replace(place, file=self.source.name, text=text, inlined=calls)


@dataclass(slots=True)
class Programs:
    """What was built so far, the latest first."""

    _built: list[tuple[Built, list[DriverKernel] | None]] = field(default_factory=list)

    def add(self, built: Built) -> None:
        """Note a program; it is read when a name is asked for."""
        self._built.insert(0, (built, None))
        size = 0
        for k, (kept, _) in enumerate(self._built):
            size += len(kept.binary) + len(kept.source)
            if size > _MOST_BYTES and k:
                del self._built[k:]
                break

    def known(self, code: bytes) -> KnownCode | None:
        """What is known of the kernel that code is of; of several that are equal, all names."""
        kernels = [k for k in self._kernels() if k.code[: len(code)] == code]
        if not kernels:  # addresses in the code are the driver's
            kernels = [k for k in self._kernels() if _is_near(k.code, code)][:1]
        if not kernels:
            return None
        title = " or ".join(dict.fromkeys(kernel.name for kernel in kernels))
        return replace(kernels[0].known, name=title)

    def _kernels(self) -> Iterator[DriverKernel]:
        for k, (built, kernels) in enumerate(self._built):
            if kernels is None:
                kernels = kernels_of(built)
                self._built[k] = built, kernels
            yield from kernels


def kernels_of(built: Built) -> list[DriverKernel]:
    """The kernels of a program, those that can be read of a damaged file."""
    source = Source("source.cl", built.source.decode("utf-8", "replace"))
    kernels: list[DriverKernel] = []
    debug: dict[str, bytes] = {}
    with _trusting_nothing():
        for name, data in _sections(built.binary):
            if name.startswith(_TEXT):
                kernel = DriverKernel(name.removeprefix(_TEXT), data, source)
                kernel.lines = partial(_lines_of_elf, built.binary, kernel.name)
                kernels.append(kernel)
            elif name.endswith("Debug") and data[:4] == _MAGIC:
                debug = dict(_debug(data))
            elif name.endswith("Binary") and data[:4] == _MAGIC:
                kernels += (
                    DriverKernel(title, code, source, at) for title, code, at in _codes(data)
                )
    for kernel in kernels:
        if kernel.name in debug:
            kernel.lines = partial(_table, debug[kernel.name])
    return kernels


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


def _codes(data: bytes) -> Iterator[tuple[str, bytes, Dim3 | None]]:
    """Names and native code of the kernels of a device binary, and where first global ids are."""
    *_, count, _, patches = _HEADER.unpack_from(data)
    at = _HEADER.size + patches
    for _ in range(count):
        _, _, name, patches, code, *heaps, unpadded = _KERNEL.unpack_from(data, at)
        at += _KERNEL.size
        text, begins = data[at + name : at + name + min(code, unpadded)], at + name
        at = begins + code + sum(heaps) + patches
        yield _name(data[begins - name : begins]), text, _offset_at(data[at - patches : at])


def _offset_at(patches: bytes) -> Dim3 | None:
    """The places of the first global ids, from a kernel's patch list."""
    offsets, at = {}, 0
    while at + _ITEM.size + _PARAMETER.size <= len(patches):
        token, size = _ITEM.unpack_from(patches, at)
        if token == _DATA_PARAMETER:
            kind, _, place, _, axis = _PARAMETER.unpack_from(patches, at + _ITEM.size)
            if kind == _GLOBAL_OFFSET:
                offsets[axis // 4] = place
        if size < _ITEM.size:
            return None
        at += size
    return (offsets[0], offsets[1], offsets[2]) if offsets.keys() == {0, 1, 2} else None


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


def _is_near(other: bytes, code: bytes) -> bool:
    if len(other) < len(code):
        return False
    places = range(0, len(code), 8)
    equal = sum(other[k : k + 8] == code[k : k + 8] for k in places)
    return equal >= _NEAR * len(places)


def _lines_of_elf(binary: bytes, kernel: str) -> Lines:
    return sorted(read_lines(binary, kernel).code.get(kernel, ()), key=lambda row: row[0])


def _table(debug: bytes) -> Lines:
    """The table of lines; the kernel begins at 0."""
    from elftools.elf.elffile import ELFFile

    try:
        info = ELFFile(io.BytesIO(debug)).get_dwarf_info(relocate_dwarf_sections=False)
        return lines_of_code(info)
    except damage():
        return []
