"""From the bytes of the compiler's ELF to a `Zebin`.

Every `.visaasm` section of a kernel has the same name.  The compiler writes them in the order of
the `.text.*` sections, one each; the functions that a kernel alone calls follow it as
`.visaasm.<function>`.  The program's last `.text` is a kernel of the compiler's own that exists to
carry the functions and variables that all kernels share; functions after its `.visaasm` are those.
"""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import Final

from eumu.errors import FormatError, NoKernel
from eumu.platforms import of_product_family
from eumu.zebin import container, elf, ze_info
from eumu.zebin.elf import Elf, Section, Type
from eumu.zebin.ignored import is_known_section
from eumu.zebin.program import (
    DataSection,
    Function,
    Kernel,
    Library,
    Relocation,
    RelocationType,
    Symbol,
    SymbolKind,
    Target,
    Zebin,
)
from eumu.zebin.ze_info import FunctionInfo, KernelInfo, ZeInfo

SHARED_CODE: Final = "Intel_Symbol_Table_Void_Program"
_TEXT: Final = ".text."
_VISAASM: Final = ".visaasm"
_SIMD_SIZE: Final = re.compile(r"^\s*\.kernel_attr\s+SimdSize\s*=\s*(\d{1,4})\s*$", re.MULTILINE)
# Sections of variables: what they are called with initial values, and where zeros follow on.
_DATA: Final = (
    (".data.const", ".bss.const", False),
    (".data.const.string", "", False),
    (".data.global", ".bss.global", True),
)
_RELOCATIONS: Final = frozenset(RelocationType) - {RelocationType.UNKNOWN}
_KINDS: Final = {1: SymbolKind.OBJECT, 2: SymbolKind.FUNCTION}
_GENERATORS: Final = {0: "unregistered", 1: "IGC", 2: "nGEN"}


def read(data: bytes, name: str) -> Zebin:
    """The program in an ELF file; `name` is what messages call it.

    Raises FormatError, with the section or the offset, for everything that is not a complete
    output of the compiler with its vISA text.
    """
    return _Reading(elf.parse(data, name)).program()


class _Reading:
    """One ELF file while it is read: its sections by name and its symbols."""

    def __init__(self, file: Elf) -> None:
        self.file = file
        self.texts = {
            s.name.removeprefix(_TEXT): s for s in file.sections if s.name.startswith(_TEXT)
        }
        self.symbols = self._symbols()
        self.relocations = self._relocations()

    def program(self) -> Zebin:
        info = self._info()
        kernels, functions = self._code(info)
        return Zebin(
            name=self.file.name,
            pointer_bits=self.file.bits,
            target=_target(self.file),
            kernels=kernels,
            functions=functions,
            data=self._data(),
            symbols=tuple(s for s in self.symbols if s.name and s.name != "_entry"),
            global_host_access_table=info.global_host_access_table,
            build_options=self._build_options(),
            spirv=next((s.data for s in self.file.of_type(Type.SPIRV)), b""),
            library=self._library(),
            unknown=self._unknown(info),
        )

    def _info(self) -> ZeInfo:
        section = self.file.named(".ze_info")
        if section is None:
            if not self.texts:
                raise NoKernel(f"{self.file.name}: the program has no kernel")
            raise FormatError(f"{self.file.name}: there is no section '.ze_info'")
        return ze_info.parse(self.file.text(section), self.file.name)

    def _rebuild(self) -> str:
        """For which device the program was compiled, and how to compile it again."""
        family, options = _target(self.file).product_family, self._build_options()
        if family is None:
            return container.rebuild(options=options)
        device = of_product_family(family)
        if device is None:
            return (
                f"it was compiled for product family {family:#x}, which eumu does not know; "
                f"{container.rebuild(options=options)}"
            )
        return f"it was compiled for {device} ({device.title}); " + container.rebuild(
            device.ocloc, options
        )

    def _build_options(self) -> str:
        section = self.file.named(".misc.buildOptions")
        return self.file.text(section).rstrip("\0").strip() if section else ""

    # Symbols and relocations.

    def _symbols(self) -> tuple[Symbol, ...]:
        names = {i: s.name for i, s in enumerate(self.file.sections) if i}
        present = set(names.values())
        for data, zeros, _ in _DATA:
            if data not in present:
                # Symbols are in the section of zeros only if there is no other.
                names = {i: data if n == zeros else n for i, n in names.items()}
        return tuple(
            Symbol(
                name=row.name,
                kind=_KINDS.get(row.kind, SymbolKind.NONE),
                section=names.get(row.section, ""),
                value=row.value,
                size=row.size,
                is_global=row.binding != 0,
            )
            for row in self.file.symbols()
        )

    def _relocations(self) -> dict[int, tuple[Relocation, ...]]:
        """By the index of the section that is patched."""
        relocations: dict[int, tuple[Relocation, ...]] = {}
        for table in self.file.sections:
            if table.type not in (Type.REL, Type.RELA):
                continue
            if not 0 < table.info < len(self.file.sections):
                raise self.file.fail(table, f"it patches section {table.info}, which is not there")
            patched = self.file.sections[table.info]
            if patched.name.startswith(".debug"):
                continue
            rows = (self._relocation(table, patched, e) for e in self.file.relocations(table))
            relocations[patched.index] = (*relocations.get(patched.index, ()), *rows)
        return relocations

    def _relocation(self, table: Section, patched: Section, entry: elf.Entry) -> Relocation:
        if entry.symbol >= len(self.symbols):
            raise self.file.fail(table, f"symbol {entry.symbol} is not in the symbol table")
        is_known = entry.type in _RELOCATIONS
        kind = RelocationType(entry.type) if is_known else RelocationType.UNKNOWN
        symbol, addend = self.symbols[entry.symbol], entry.addend or 0
        row = Relocation(entry.offset, kind, symbol, addend, entry.type)
        if entry.offset + row.width > len(patched.data):
            raise self.file.fail(
                table, f"it patches byte {entry.offset:#x} of {patched.name!r}, past its end"
            )
        if entry.addend is not None or patched.name.startswith(_TEXT):
            return row  # in code, the bytes to be patched hold a placeholder, not an addend
        form = {RelocationType.ADDRESS_64: "<q", RelocationType.ADDRESS_32: "<i"}.get(kind)
        if form is None:
            return row
        (addend,) = struct.unpack_from(form, patched.data, entry.offset)
        return replace(row, addend=addend)

    def _unknown(self, info: ZeInfo) -> tuple[str, ...]:
        rows = {(s, r.number) for s, own in self.relocations.items() for r in own
                if r.type is RelocationType.UNKNOWN}  # fmt: skip
        return (
            *(f".ze_info: {key}" for key in info.unknown),
            *(f"section {s.name}" for s in self.file.sections if not is_known_section(s.name)),
            *(f"{self.file.sections[s].name}: relocation type {n}" for s, n in sorted(rows)),
        )

    # Variables.

    def _data(self) -> tuple[DataSection, ...]:
        blocks = []
        for name, zeros_name, writable in _DATA:
            section = self.file.named(name)
            zeros = self.file.named(zeros_name) if zeros_name else None
            if section is None and zeros is None:
                continue
            data = section.data if section else b""
            patches = self.relocations.get(section.index, ()) if section else ()
            size = len(data) + (zeros.size if zeros else 0)
            blocks.append(DataSection(name, data, size, writable, patches))
        return tuple(blocks)

    # Kernels and functions.

    def _library(self) -> Library | None:
        text = self.texts.get(SHARED_CODE)
        return Library(text.data, self.relocations.get(text.index, ())) if text else None

    def _code(self, info: ZeInfo) -> tuple[tuple[Kernel, ...], tuple[Function, ...]]:
        infos = {k.name: k for k in info.kernels}
        for missing in infos.keys() - self.texts.keys():
            raise FormatError(f"{self.file.name}: kernel {missing!r} has no section '.text'")
        of_kernels, of_functions = self._visaasm([t for t in self.texts if t in infos])
        kernels = tuple(
            self._kernel(infos[name], section)
            for name, section in of_kernels.items()
            if name != SHARED_CODE
        )
        exported = {f.name: f for f in info.functions}
        functions = tuple(
            self._function(section, owner, exported) for section, owner in of_functions
        )
        return kernels, functions

    def _visaasm(self, kernels: list[str]) -> tuple[dict[str, Section], list[tuple[Section, str]]]:
        """The vISA text of each kernel, and of each function with the kernel that owns it."""
        sections = list(self.file.of_type(Type.VISAASM))
        if not sections:
            raise FormatError(
                f"{self.file.name}: there is no vISA text in it (sections '.visaasm'); "
                f"{self._rebuild()}"
            )
        named = {s.name.removeprefix(_VISAASM + ".") for s in sections}
        nameless = [k for k in kernels if k not in named]
        if len(nameless) != sum(s.name == _VISAASM for s in sections):
            raise FormatError(
                f"{self.file.name}: {len(kernels)} kernels ({', '.join(kernels)}) do not match "
                f"the sections {', '.join(s.name for s in sections)}"
            )
        order = iter(nameless)
        of_kernels: dict[str, Section] = {}
        of_functions: list[tuple[Section, str]] = []
        owner = ""
        for section in sections:
            own = section.name.removeprefix(_VISAASM + ".")
            if section.name == _VISAASM or own in kernels:
                owner = next(order) if section.name == _VISAASM else own
                of_kernels[owner] = section
            else:
                of_functions.append((section, "" if owner == SHARED_CODE else owner))
        return of_kernels, of_functions

    def _kernel(self, info: KernelInfo, section: Section) -> Kernel:
        visaasm = self.file.text(section)
        simd = _SIMD_SIZE.search(visaasm)
        if simd is not None and int(simd[1]) != info.execution_env.simd_size:
            raise self.file.fail(
                section,
                f"its code is SIMD{simd[1]}, kernel {info.name!r} is "
                f"SIMD{info.execution_env.simd_size}: it belongs to another kernel",
            )
        text = self.texts[info.name]
        return Kernel(
            name=info.name,
            info=info,
            visaasm=visaasm,
            text=text.data,
            entry=next(
                (s.value for s in self.symbols if (s.section, s.name) == (text.name, "_entry")), 0
            ),
            relocations=self.relocations.get(text.index, ()),
        )

    def _function(
        self, section: Section, owner: str, exported: dict[str, FunctionInfo]
    ) -> Function:
        name = section.name.removeprefix(_VISAASM + ".")
        place = f"{_TEXT}{owner or SHARED_CODE}"
        symbol = next((s for s in self.symbols if (s.section, s.name) == (place, name)), None)
        text = self.texts.get(owner or SHARED_CODE)
        start, size = (symbol.value, symbol.size) if symbol else (0, 0)
        if text is not None and start + size > len(text.data):
            raise self.file.fail(text, f"function {name!r} ends at {start + size:#x}, past its end")
        return Function(
            name=name,
            owner=owner,
            visaasm=self.file.text(section),
            text=text.data[start : start + size] if text else b"",
            offset=start,
            info=exported.get(name),
        )


def _target(file: Elf) -> Target:
    section = file.named(".note.intelgt.compat")
    if section is None:
        return Target()
    notes = dict(_notes(file, section))
    words = {k: int.from_bytes(v, "little") for k, v in notes.items() if k != 4 and len(v) == 4}
    metadata = words.get(3)
    generator, revisions = "", (0, 0)
    if metadata is not None:
        generator = _GENERATORS.get(metadata >> 21 & 7, f"generator {metadata >> 21 & 7}")
        revisions = (metadata >> 8 & 31, metadata >> 16 & 31)
    return Target(
        product_family=words.get(1),
        gfx_core=words.get(2),
        product_config=words.get(6),
        generator=generator,
        revisions=revisions,
        zebin_version=notes.get(4, b"").rstrip(b"\0").decode("ascii", "backslashreplace"),
        visa_abi=words.get(5),
    )


def _notes(file: Elf, section: Section) -> list[tuple[int, bytes]]:
    """Type and description of the notes whose owner is IntelGT."""
    data, position = section.data, 0
    notes = []
    while position + 12 <= len(data):
        owner_size, size, kind = struct.unpack_from("<III", data, position)
        start = position + 12 + (owner_size + 3 & ~3)
        if start + size > len(data):
            raise file.fail(section, f"the note at {position:#x} of it is cut off")
        if data[position + 12 : position + 12 + owner_size].rstrip(b"\0") == b"IntelGT":
            notes.append((kind, data[start : start + size]))
        position = start + (size + 3 & ~3)
    return notes
