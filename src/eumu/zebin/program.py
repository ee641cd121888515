"""What a compiled program holds, as frozen records: kernels, functions, data, symbols, relocations.

How names become addresses, as measured on the compiler's output for bdw … pvc:

* `faddr name V` in vISA text asks for the 64-bit address of the symbol `name`.  The relocations of
  `.text.*` say the same for native code (there the low and the high half may be apart), so whoever
  runs vISA needs the symbol table only.
* A variable lies in `.data.const` (`constant` at program scope, initialised tables of a kernel),
  `.data.global` (`global` at program scope) or `.data.const.string` (printf formats and string
  literals); its address is where the launcher put that section, plus `Symbol.value`.
* `.bss.const` and `.bss.global` follow the section of the same name without a gap, and symbols
  count on from it: both are one `DataSection` here, whose `size` may exceed its initial bytes.
* Data holds addresses too (`.rel.data.const`, `.rel.data.global`).  The addend stands in the data:
  `&table[3]` of int is the symbol `table` with 12 in the eight bytes to be patched.  In code the
  bytes to be patched hold a placeholder instead, and the addend is 0.
* A function that one kernel calls is called by name (`fcall name`); it belongs to that kernel
  (`Function.owner`) and nothing asks for its address.  A function that several kernels call, or
  that other programs may call, belongs to none: kernels reach it with `faddr name` and `ifcall`.
* A symbol without a section is defined nowhere: a declared function that no source has, or a
  builtin that the compiler's library lacks.  The build does not fail; the call would.
* `const_base` and `global_base` arguments are in the format for programs without relocations.
  This compiler writes relocations for every device and never those arguments.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import field
from enum import Enum, IntEnum
from typing import Final

from eumu.errors import Unsupported
from eumu.records import dataclass
from eumu.zebin.ze_info import FunctionInfo, HostAccess, KernelInfo


class SymbolKind(Enum):
    """What a symbol names."""

    NONE = "none"
    OBJECT = "object"
    FUNCTION = "function"


class RelocationType(IntEnum):
    """What is written over the bytes at a relocation's offset."""

    UNKNOWN = -1  # a number that no document lists; whoever needs its bytes raises
    NONE = 0
    ADDRESS_64 = 1
    ADDRESS_32 = 2  # the low half, or a whole 32-bit address
    ADDRESS_32_HIGH = 3
    PER_THREAD_PAYLOAD_OFFSET_32 = 4  # where the local ids lie in the payload
    GLOBAL_IMMEDIATE_32 = 5  # a number that the driver knows
    SEND = 6  # a send instruction, whose binding table index may be changed
    ADDRESS_16 = 7  # 16 bits of an address, or a number


_WIDTHS: Final = {1: 8, 2: 4, 3: 4, 4: 4, 5: 4, 7: 2}


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named place: `value` bytes from the start of `section`, "" if it is defined nowhere."""

    name: str
    kind: SymbolKind
    section: str
    value: int
    size: int
    is_global: bool

    @property
    def is_defined(self) -> bool:
        """Whether this program has it."""
        return bool(self.section)


@dataclass(frozen=True, slots=True)
class Relocation:
    """The address of `symbol` plus `addend` belongs at `offset` of the section.

    `number` is the type as the file has it.
    """

    offset: int
    type: RelocationType
    symbol: Symbol
    addend: int
    number: int = 0

    def check(self) -> None:
        """Unsupported if nobody knows what is to be written."""
        if self.type is RelocationType.UNKNOWN:
            raise Unsupported(f"relocation type {self.number}; 0 … 7 are known")

    @property
    def width(self) -> int:
        """The number of bytes that are written."""
        return _WIDTHS.get(self.type, 0)


@dataclass(frozen=True, slots=True)
class DataSection:
    """Initial contents of program-scope variables: `data`, then zeros up to `size` bytes."""

    name: str
    data: bytes = field(repr=False)
    size: int
    writable: bool
    relocations: tuple[Relocation, ...] = ()

    def relocated(self, address_of: Callable[[Symbol], int]) -> bytes:
        """`data` with every address filled in; `address_of` gives a symbol's address."""
        patched = bytearray(self.data)
        for r in self.relocations:
            r.check()
            address = address_of(r.symbol) + r.addend
            if r.type is RelocationType.ADDRESS_64:
                struct.pack_into("<Q", patched, r.offset, address & (1 << 64) - 1)
            elif r.type is RelocationType.ADDRESS_32:
                struct.pack_into("<I", patched, r.offset, address & (1 << 32) - 1)
            elif r.type is RelocationType.ADDRESS_32_HIGH:
                struct.pack_into("<I", patched, r.offset, address >> 32 & (1 << 32) - 1)
        return bytes(patched)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its needs, its vISA text and its native code, which begins at `entry` of `text`.

    The vISA text calls every kernel "kernel", unless it was built with `-g`.
    """

    name: str
    info: KernelInfo
    visaasm: str = field(repr=False)
    text: bytes = field(repr=False)
    entry: int
    relocations: tuple[Relocation, ...] = field(repr=False)

    @property
    def visa_version(self) -> tuple[int, int] | None:
        """What its text says that it is written in; None if that is nothing."""
        match = _VISA_VERSION.search(self.visaasm)
        return (int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True, slots=True)
class Function:
    """A function reached by `fcall` or `ifcall`: its vISA text and its native code.

    `owner` is the kernel it belongs to, "" if all may call it; `info` is there only if other
    programs may call it too.  The native code is part of the owner's `.text`, at `offset`.
    """

    name: str
    owner: str
    visaasm: str = field(repr=False)
    text: bytes = field(repr=False)
    offset: int
    info: FunctionInfo | None = None


@dataclass(frozen=True, slots=True)
class Library:
    """The native code of the functions that all kernels may call; `Function.offset` is in it."""

    text: bytes = field(repr=False)
    relocations: tuple[Relocation, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Target:
    """What the compiler's notes say of the device and of itself; None is not recorded.

    `product_family` is what tells devices apart (`eumu.platforms.of_product_family`); this compiler
    writes 0 for every `gfx_core`.  `revisions` are the least and greatest steppings.
    """

    product_family: int | None = None
    gfx_core: int | None = None
    product_config: int | None = None
    generator: str = ""
    revisions: tuple[int, int] = (0, 0)
    zebin_version: str = ""
    visa_abi: int | None = None


_LANGUAGE: Final = re.compile(r"-cl-std=(?:CL|clc)(C?\+\+|\d)", re.IGNORECASE)
_UNIFORM: Final = "-cl-uniform-work-group-size"
_VISA_VERSION: Final = re.compile(r"^\.version\s+(\d+)\.(\d+)\s*$", re.MULTILINE)


def smaller_groups(options: str) -> bool:
    """Whether groups at the end of a range may be smaller in programs of such build options.

    They may from OpenCL C 2.0 on.  Source: OpenCL's `clBuildProgram`.

    >>> smaller_groups("-cl-std=CL3.0"), smaller_groups("-cl-fast-relaxed-math")
    (True, False)
    """
    asked = _LANGUAGE.findall(options)
    is_new = bool(asked) and (not asked[-1].isdigit() or asked[-1] >= "2")
    return is_new and _UNIFORM not in options


@dataclass(frozen=True, slots=True)
class Zebin:
    """A compiled program; `data` in file order, `spirv` empty if the compiler left it out.

    `unknown` names what the file has and this reader does not know: keys of `.ze_info` with the
    place of each, types of relocations.
    """

    name: str
    pointer_bits: int
    target: Target
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]
    data: tuple[DataSection, ...]
    symbols: tuple[Symbol, ...] = field(repr=False)
    global_host_access_table: tuple[HostAccess, ...] = ()
    build_options: str = ""
    spirv: bytes = field(default=b"", repr=False)
    library: Library | None = None
    unknown: tuple[str, ...] = ()

    def symbol(self, name: str) -> Symbol | None:
        """What `faddr name` means: the global symbol of that name, or else the first local one."""
        symbols = [s for s in self.symbols if s.name == name]
        return next((s for s in symbols if s.is_global), symbols[0] if symbols else None)

    def section(self, name: str) -> DataSection | None:
        """The data section of that name."""
        return next((s for s in self.data if s.name == name), None)

    def functions_of(self, kernel: str) -> tuple[Function, ...]:
        """The functions that the code of a kernel may reach."""
        return tuple(f for f in self.functions if f.owner in ("", kernel))

    @property
    def made_by(self) -> str:
        """What the file says of the compiler: who, and the versions of its format and its vISA."""
        versions = {v for kernel in self.kernels if (v := kernel.visa_version)}
        parts = [self.target.generator]
        if self.target.zebin_version:
            parts.append(f"zebin {self.target.zebin_version}")
        if versions:
            parts.append(f"vISA {' and '.join(f'{a}.{b}' for a, b in sorted(versions))}")
        return ", ".join(filter(None, parts))

    @property
    def undefined(self) -> tuple[str, ...]:
        """The names that code or data refers to and that are defined nowhere."""
        return tuple(s.name for s in self.symbols if s.name and not s.is_defined)

    @property
    def needs(self) -> tuple[str, ...]:
        """The undefined names that vISA or variables use, for another program to define.

        Drivers put numbers of their own into native code, under names that nothing defines.
        """
        texts = [*(k.visaasm for k in self.kernels), *(f.visaasm for f in self.functions)]
        data = {r.symbol.name for section in self.data for r in section.relocations}
        return tuple(n for n in self.undefined if n in data or any(mentions(t, n) for t in texts))


def mentions(text: str, name: str) -> bool:
    """Whether vISA text uses a name."""
    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text) is not None
