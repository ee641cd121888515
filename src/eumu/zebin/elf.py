"""The compiler's ELF: sections, symbols, relocations, as pyelftools reads them.

The library trusts a file, so its places and counts are checked first: a damaged file costs no more
time and memory than its size allows, and every complaint names the section or the part.  The
library is imported when the first ELF is read, as that takes about 0.1 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from enum import IntEnum
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from eumu.errors import FormatError
from eumu.records import dataclass
from eumu.zebin import container

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# A linker may let names share their ends, so all together may be longer than the file, a little.
_NAMES_PER_BYTE: Final = 4
_COMPRESSED: Final = 1 << 11  # SHF_COMPRESSED


class Type(IntEnum):
    """Section types that are looked at."""

    NULL = 0
    PROGBITS = 1
    SYMTAB = 2
    RELA = 4
    NOTE = 7
    NOBITS = 8
    REL = 9
    SPIRV = 0xFF00_0009
    ZE_INFO = 0xFF00_0011
    VISAASM = 0xFF00_0013
    MISC = 0xFF00_0014


@dataclass(frozen=True, slots=True)
class Section:
    """One section; `offset` is its place in the file, `data` is empty if it takes none there."""

    index: int
    name: str
    type: int
    offset: int
    size: int
    link: int
    info: int
    row_size: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SymbolEntry:
    """One row of the symbol table; `section` is an index, 0 for undefined."""

    name: str
    value: int
    size: int
    kind: int
    binding: int
    section: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a relocation table; `addend` is None where it stands in the section itself."""

    offset: int
    type: int
    symbol: int
    addend: int | None


@dataclass(frozen=True, slots=True)
class Elf:
    """A file's sections; `bits` is 32 or 64, the width of an address."""

    name: str
    bits: int
    sections: tuple[Section, ...]
    _file: ELFFile = field(repr=False, compare=False)

    def named(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((s for s in self.sections if s.name == name), None)

    def of_type(self, kind: Type) -> Iterator[Section]:
        """The sections of a type, in file order."""
        return (s for s in self.sections if s.type == kind)

    def fail(self, section: Section, message: str) -> FormatError:
        """An error about a section, to be raised."""
        return FormatError(f"{self._place(section)}: {message}")

    def _place(self, section: Section) -> str:
        return f"{self.name}: section {section.name!r} at offset {section.offset:#x}"

    def text(self, section: Section) -> str:
        """A section as UTF-8."""
        try:
            return section.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(section, f"byte {error.start:#x} is not UTF-8") from None

    def symbols(self) -> tuple[SymbolEntry, ...]:
        """The symbol table, the unused row 0 included; empty without one."""
        table = next(self.of_type(Type.SYMTAB), None)
        if table is None:
            return ()
        self._check_rows(table, self._file.structs.Elf_Sym.sizeof())
        if not 0 < table.link < len(self.sections):
            raise self.fail(table, f"its string table is section {table.link}, which is not there")
        strings = self.sections[table.link]
        if strings.data[-1:] != b"\0":
            raise self.fail(strings, "its last string has no end")
        left = _NAMES_PER_BYTE * self._file.stream_len
        symbols = []
        with _reading(self._place(table)):
            for row in self._library_section(table).iter_symbols():
                if row["st_name"] >= len(strings.data):
                    raise self.fail(
                        table, f"a symbol's name at {row['st_name']:#x} is not in {strings.name!r}"
                    )
                left -= len(row.name)
                if left < 0:
                    raise self.fail(table, "the names of its symbols overlap")
                symbols.append(self._symbol(table, row))
        return tuple(symbols)

    def _symbol(self, table: Section, row: Any) -> SymbolEntry:
        from elftools.elf import enums

        section = _number(row["st_shndx"], enums.ENUM_ST_SHNDX)
        if section >= len(self.sections):
            raise self.fail(table, f"a symbol is in section {section:#x}, which is not there")
        info = row["st_info"]
        return SymbolEntry(
            name=row.name,
            value=row["st_value"],
            size=row["st_size"],
            kind=_number(info["type"], enums.ENUM_ST_INFO_TYPE),
            binding=_number(info["bind"], enums.ENUM_ST_INFO_BIND),
            section=section,
        )

    def relocations(self, table: Section) -> tuple[Entry, ...]:
        """The rows of a REL or RELA section."""
        structs = self._file.structs
        row = structs.Elf_Rela if table.type == Type.RELA else structs.Elf_Rel
        self._check_rows(table, row.sizeof())
        with _reading(self._place(table)):
            return tuple(
                Entry(r["r_offset"], r["r_info_type"], r["r_info_sym"], r.entry.get("r_addend"))
                for r in self._library_section(table).iter_relocations()
            )

    def _library_section(self, table: Section) -> Any:
        """The library's section; its class is that of the section's type."""
        return self._file.get_section(table.index)

    def _check_rows(self, table: Section, size: int) -> None:
        if table.row_size != size:
            raise self.fail(table, f"its rows have {table.row_size} bytes, not {size}")
        if table.size % size:
            raise self.fail(table, f"its {table.size} bytes are not whole rows of {size}")


def parse(data: bytes, name: str) -> Elf:
    """The sections of the compiler's ELF; FormatError for anything else."""
    container.check(data, name)
    if data[4] not in (1, 2):
        raise FormatError(f"{name}: byte 4 of the ELF header is {data[4]}; a class is 1 or 2")
    with _reading(f"{name}: the ELF header"):
        from elftools.elf.elffile import ELFFile

        file = ELFFile(BytesIO(data))
    headers = _section_headers(file, name)
    return Elf(name, file.elfclass, tuple(_sections(file, name, headers)), file)


@contextmanager
def _reading(place: str) -> Iterator[None]:
    """Whatever the library says of damage, as a FormatError about this place."""
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError

    try:
        yield
    except FormatError:
        raise
    except (ELFError, ConstructError, AssertionError, LookupError, OverflowError, ValueError) as e:
        raise FormatError(f"{place} is cut off or damaged: {e}") from None


def _number(value: int | str, names: Any) -> int:
    """The number of something that the library names if it can."""
    number: int = names[value] if isinstance(value, str) else value
    return number


def _section_headers(file: ELFFile, name: str) -> list[Any]:
    """The rows of the section table, once it is known that they are all there."""
    from elftools.common.utils import struct_parse

    row = file.structs.Elf_Shdr
    start, count, size = file["e_shoff"], file["e_shnum"], file["e_shentsize"]
    if count == 0:
        raise FormatError(f"{name}: the ELF file has no sections")
    if size != row.sizeof():
        raise FormatError(f"{name}: a section header has {row.sizeof()} bytes, not {size}")
    end = start + count * size
    if end > file.stream_len:
        raise FormatError(
            f"{name}: the section headers end at {end:#x}, the file at {file.stream_len:#x}: "
            "it is cut off or damaged"
        )
    with _reading(f"{name}: the section headers"):
        return [struct_parse(row, file.stream, start + i * size) for i in range(count)]


def _sections(file: ELFFile, name: str, headers: list[Any]) -> Iterator[Section]:
    # Sections that share bytes could ask for far more memory than the file has: all of them
    # together, without their headers, must fit into the file.
    from elftools.elf.enums import ENUM_SH_TYPE_BASE
    from elftools.elf.sections import Section as LibrarySection

    room = file.stream_len - len(headers) * file["e_shentsize"]
    titles = _titles(file, name, headers)
    for index, (header, title) in enumerate(zip(headers, titles, strict=True)):
        kind = _number(header["sh_type"], ENUM_SH_TYPE_BASE)
        size, content = header["sh_size"], b""
        if kind not in (Type.NULL, Type.NOBITS):
            _check_extent(file, name, header, title)
            room -= size
            if room < 0:
                raise FormatError(f"{name}: section {title!r} overlaps another one")
            with _reading(f"{name}: section {title!r}"):
                content = LibrarySection(header, title, file).data()
        yield Section(
            index,
            title,
            kind,
            header["sh_offset"],
            size,
            header["sh_link"],
            header["sh_info"],
            header["sh_entsize"],
            content,
        )


def _titles(file: ELFFile, name: str, headers: list[Any]) -> Iterator[str]:
    """The names of the sections, in order; "" for an unused row."""
    from elftools.elf.sections import StringTableSection

    table = file["e_shstrndx"]
    if not 0 < table < len(headers):
        raise FormatError(f"{name}: the section names are in section {table}, which is not there")
    _check_extent(file, name, headers[table], "section names")
    strings = StringTableSection(headers[table], "", file)
    if strings.data()[-1:] != b"\0":
        raise FormatError(f"{name}: the last of the section names has no end")
    left = _NAMES_PER_BYTE * file.stream_len
    for index, header in enumerate(headers):
        start = header["sh_name"]
        if header["sh_type"] == "SHT_NULL":
            yield ""
            continue
        if start >= strings["sh_size"]:
            raise FormatError(f"{name}: the name of section {index}, at {start:#x}, is not there")
        title = strings.get_string(start)
        left -= len(title)
        if left < 0:
            raise FormatError(f"{name}: the names of the sections overlap")
        yield title


def _check_extent(file: ELFFile, name: str, header: Any, title: str) -> None:
    end = header["sh_offset"] + header["sh_size"]
    if end > file.stream_len:
        raise FormatError(
            f"{name}: section {title!r} ends at {end:#x}, the file at {file.stream_len:#x}: "
            "it is cut off or damaged"
        )
    if header["sh_flags"] & _COMPRESSED:
        raise FormatError(f"{name}: section {title!r} is compressed; the compiler's never are")
