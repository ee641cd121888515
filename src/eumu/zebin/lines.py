"""What the compiler's DWARF says beyond the lines in the vISA text: columns, functions, inlining.

vISA text has `FILE` and `LOC`; the debug sections have a table from machine code to lines and
columns, and the functions that were inlined there.  No table leads from vISA to machine code, so a
column, or a chain of calls, is given only if all machine code of a line has the same: of an access
to memory, all messages (`send`) of the line.  pyelftools reads the sections; damaged ones say
nothing.
"""

from __future__ import annotations

import itertools
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from eumu.errors import FormatError, Place
from eumu.records import dataclass
from eumu.zebin.elf import Elf, Section, parse

if TYPE_CHECKING:
    from elftools.dwarf.dwarfinfo import DWARFInfo

_TEXT: Final = ".text."
_SECTIONS: Final = (
    *(".debug_info", ".debug_aranges", ".debug_abbrev", ".debug_frame", ".eh_frame", ".debug_str"),
    *(".debug_loc", ".debug_ranges", ".debug_line", ".debug_pubtypes", ".debug_pubnames"),
    *(".debug_addr", ".debug_str_offsets", ".debug_line_str", ".debug_loclists"),
    *(".debug_rnglists", ".debug_sup", ".gnu_debugaltlink", ".debug_types"),
)
# What this machine's relocations write: 64 bits of an address, or 32.
_PATCHES: Final = {1: "<Q", 2: "<I"}
_MASKS: Final = {"<Q": (1 << 64) - 1, "<I": (1 << 32) - 1}
_SPACE: Final = 32  # bits of an address in one section of code; the section's number is above
_OFFSET: Final = (1 << _SPACE) - 1
_SENDS: Final = frozenset({0x31, 0x32, 0x33, 0x34})  # opcodes of messages, on all generations
_COMPACT: Final = 1 << 29  # an instruction of 8 bytes, not 16
_MOST_BYTES: Final = 16 << 20  # of debug sections
_MOST_WORK: Final = 10_000_000  # looks at stretches of functions, for all stretches of lines
_MOST_RANGES: Final = 1000  # of one function

Key = tuple[str, int]  # file, line


@dataclass(frozen=True, slots=True)
class _Row:
    """Machine code of one line: its column, whether it has a message, and whose it is."""

    column: int
    sends: bool
    function: str
    inlined: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class DebugLines:
    """The lines of a program's sources, by file and line."""

    rows: Mapping[Key, tuple[_Row, ...]] = field(repr=False)
    code: Mapping[str, tuple[tuple[int, int, Place], ...]] = field(default_factory=dict, repr=False)

    def more(self, place: Place, *, access: bool) -> Place:
        """A place with its column, function and calls, as far as they are certain."""
        rows = self.rows.get((place.file, place.line), ())
        if access and any(row.sends for row in rows):
            rows = tuple(row for row in rows if row.sends)
        columns = {row.column for row in rows}
        names = {(row.function, row.inlined) for row in rows}
        if len(columns) == 1:
            place = replace(place, column=columns.pop() or None)
        if len(names) == 1:
            ((function, inlined),) = names
            place = replace(place, function=function, inlined=inlined)
        return place

    def at(self, kernel: str, offset: int) -> Place | None:
        """The line that a kernel's machine code at an offset comes from."""
        stretches = self.code.get(kernel, ())
        return next((place for low, high, place in stretches if low <= offset < high), None)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Addresses of a function, or of one that was inlined; `depth` tells which is inside which."""

    ranges: tuple[tuple[int, int], ...]
    name: str
    call: Place | None
    depth: int


def read_lines(data: bytes, name: str) -> DebugLines:
    """The tables in the compiler's ELF; empty without debug sections, or with damaged ones."""
    rows: dict[Key, list[_Row]] = defaultdict(list)
    code: dict[str, list[tuple[int, int, Place]]] = defaultdict(list)
    try:
        file = parse(data, name)
        dwarf = _dwarf(file)
        if dwarf is not None:
            texts = {s.index: s.name.removeprefix(_TEXT) for s in file.sections}
            for (low, high), key, row in _rows(dwarf, _sends(file)):
                rows[key].append(row)
                place = Place(*key, row.column or None, row.function, row.inlined)
                kernel = texts.get(low >> _SPACE, "")
                code[kernel].append((low & _OFFSET, high & _OFFSET, place))
    except damage():
        return DebugLines({})
    return DebugLines(
        {key: tuple(lines) for key, lines in rows.items()},
        {kernel: tuple(lines) for kernel, lines in code.items()},
    )


def lines_of_code(dwarf: DWARFInfo) -> list[tuple[int, int, Place]]:
    """The lines of machine code that begins at address 0, by its first and behind its last byte.

    What the library raises of damaged sections comes out; see `damage`.
    """
    lines = [
        (low, high, Place(*key, row.column or None, row.function, row.inlined))
        for (low, high), key, row in _rows(dwarf, set())
    ]
    return sorted(lines, key=lambda stretch: stretch[0])


def damage() -> tuple[type[Exception], ...]:
    """What reading debug sections raises where they are damaged: pyelftools trusts its files, so
    that this is what Python says of wrong values, too.
    """
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct import ConstructError

    of_python = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError)
    of_file = (DWARFError, ELFError, ConstructError, FormatError, struct.error)
    return (*of_file, *of_python, TypeError, ValueError)


def _dwarf(file: Elf) -> DWARFInfo | None:
    """The debug sections with their relocations applied."""
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    sections = {s.name: s for s in file.sections if s.name in _SECTIONS}
    size = sum(s.size for s in sections.values())
    if ".debug_line" not in sections or ".debug_info" not in sections or size > _MOST_BYTES:
        return None
    patched = {name: _patched(file, section) for name, section in sections.items()}

    def descriptor(name: str) -> Any:
        data = patched.get(name)
        if data is None:
            return None
        section = sections[name]
        return DebugSectionDescriptor(BytesIO(data), name, section.offset, len(data), 0)

    config = DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8)
    return DWARFInfo(config, *(descriptor(name) for name in _SECTIONS))


def _patched(file: Elf, section: Section) -> bytes:
    """A section with addresses in code that say in which section of code they are."""
    data, symbols = bytearray(section.data), file.symbols()
    # A symbol for a section has its name; the section that it says is that of the table.
    texts = {s.name: s.index for s in file.sections if s.name.startswith(_TEXT)}
    for table in file.sections:
        if table.name != f".rela{section.name}":
            continue
        for row in file.relocations(table):
            form = _PATCHES.get(row.type)
            if form is None or row.offset + struct.calcsize(form) > len(data):
                continue
            symbol = symbols[row.symbol]
            value = symbol.value + (row.addend or 0)
            value += texts.get(symbol.name, 0) << _SPACE
            struct.pack_into(form, data, row.offset, value & _MASKS[form])
    return bytes(data)


def _sends(file: Elf) -> set[int]:
    """Addresses of the instructions that are messages."""
    sends = set()
    for section in file.sections:
        if not section.name.startswith(_TEXT):
            continue
        at = 0
        while at + 8 <= len(section.data):
            (word,) = struct.unpack_from("<I", section.data, at)
            if word & 0x7F in _SENDS:
                sends.add((section.index << _SPACE) + at)
            at += 8 if word & _COMPACT else 16
    return sends


def _rows(dwarf: DWARFInfo, sends: set[int]) -> Iterator[tuple[tuple[int, int], Key, _Row]]:
    """Every stretch of machine code, by file and line."""
    ordered = sorted(sends)
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        names = _files(unit, program)
        scopes = list(_scopes(dwarf, unit, unit.get_top_DIE(), names, 0))
        states = [e.state for e in program.get_entries() if e.state is not None]
        if len(states) * sum(len(scope.ranges) for scope in scopes) > _MOST_WORK:
            scopes = []
        for state, following in itertools.pairwise(states):
            if state.end_sequence or not state.line or following.address <= state.address:
                continue
            has_send = _any_between(ordered, state.address, following.address)
            function, inlined = _owner(scopes, state.address)
            row = _Row(state.column, has_send, function, inlined)
            extent = state.address, following.address
            yield extent, (names.get(state.file, ""), state.line), row


def _any_between(ordered: list[int], low: int, high: int) -> bool:
    from bisect import bisect_left

    k = bisect_left(ordered, low)
    return k < len(ordered) and ordered[k] < high


def _files(unit: Any, program: Any) -> dict[int, str]:
    """Files by number, as `FILE` in vISA text writes them: the folder and the name."""
    top = unit.get_top_DIE().attributes
    folder = top["DW_AT_comp_dir"].value.decode() if "DW_AT_comp_dir" in top else ""
    header = program.header
    directories = [d.decode() for d in header.get("include_directory", [])]
    files = {}
    for number, entry in enumerate(header["file_entry"], 1):
        name, index = entry.name.decode(), entry.dir_index
        own = directories[index - 1] if 0 < index <= len(directories) else folder
        files[number] = name if name.startswith("/") or not own else f"{own}/{name}"
    return files


def _scopes(
    dwarf: DWARFInfo, unit: Any, die: Any, names: dict[int, str], depth: int
) -> Iterator[_Scope]:
    inner = depth
    if die.tag in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
        call = None
        if "DW_AT_call_line" in die.attributes:
            attributes = die.attributes
            column = (
                attributes["DW_AT_call_column"].value
                if ("DW_AT_call_column" in attributes)
                else None
            )
            file = names.get(attributes["DW_AT_call_file"].value, "")
            call = Place(file, attributes["DW_AT_call_line"].value, column)
        ranges = tuple(itertools.islice(_ranges(dwarf, unit, die), _MOST_RANGES))
        if ranges:
            yield _Scope(ranges, _name(die), call, depth)
        inner = depth + 1
    for child in die.iter_children():
        yield from _scopes(dwarf, unit, child, names, inner)


def _name(die: Any) -> str:
    if "DW_AT_name" in die.attributes:
        return str(die.attributes["DW_AT_name"].value.decode("utf-8", "replace"))
    if "DW_AT_abstract_origin" in die.attributes:
        return _name(die.get_DIE_from_attribute("DW_AT_abstract_origin"))
    return ""


def _ranges(dwarf: DWARFInfo, unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value
    elif "DW_AT_ranges" in attributes:
        top = unit.get_top_DIE().attributes
        base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
        lists: Any = dwarf.range_lists()
        for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=unit):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            else:
                start = 0 if getattr(entry, "is_absolute", False) else base
                yield start + entry.begin_offset, start + entry.end_offset


def _owner(scopes: list[_Scope], address: int) -> tuple[str, tuple[Place, ...]]:
    """The function whose line an address is of, and the calls that brought it there."""
    inside = [s for s in scopes if any(low <= address < high for low, high in s.ranges)]
    inside.sort(key=lambda scope: scope.depth)
    calls = [
        replace(inner.call, function=outer.name)
        for outer, inner in itertools.pairwise(inside)
        if inner.call is not None
    ]
    return inside[-1].name if inside else "", tuple(reversed(calls))
