"""Writes ELF files as small or as broken as a test wants them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

PROGBITS, SYMTAB, STRTAB, RELA, NOTE, NOBITS, REL = 1, 2, 3, 4, 7, 8, 9
ZE_INFO, VISAASM = 0xFF000011, 0xFF000013


@dataclass(frozen=True)
class Part:
    """One section; `size` differs from the data's where it takes no bytes in the file."""

    name: str
    type: int
    data: bytes = b""
    link: int = 0
    info: int = 0
    size: int | None = None

    def row_size(self, wide: bool) -> int:
        """What the section table says of rows; 0 for a section without."""
        sizes = {SYMTAB: (16, 24), REL: (8, 16), RELA: (12, 24)}
        return sizes.get(self.type, (0, 0))[wide]


def elf(*parts: Part, machine: int = 0xCD, kind: int = 1, bits: int = 64) -> bytes:
    """A file with these sections from number 1 on, and the names after them."""
    names = b"\0" + b"".join(p.name.encode() + b"\0" for p in parts) + b".strtab\0"
    every = (*parts, Part(".strtab", STRTAB, names))
    wide = bits == 64
    position = 64 if wide else 52
    body, headers, start = b"", [bytes(64 if wide else 40)], 1
    for part in every:
        size = len(part.data) if part.size is None else part.size
        place = position + len(body)
        rows = part.row_size(wide)
        row = (start, part.type, 0, 0, place, size, part.link, part.info, 0, rows)
        headers.append(struct.pack("<IIQQQQIIQQ" if wide else "<10I", *row))
        body += part.data
        start += len(part.name.encode()) + 1
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)
    table = position + len(body)
    count = len(every) + 1
    if wide:
        rest = (0, 0, table, 0, 64, 0, 0, 64, count, count - 1)
        header = ident + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, *rest)
    else:
        rest = (0, 0, table, 0, 52, 0, 0, 40, count, count - 1)
        header = ident + struct.pack("<HHIIIIIHHHHHH", kind, machine, 1, *rest)
    return header + body + b"".join(headers)


def ze_info(*names: str, simd: int = 16, more: str = "") -> bytes:
    """A `.ze_info` with kernels that have no arguments."""
    kernels = "".join(
        f"  - name: {n}\n    execution_env: {{grf_count: 128, simd_size: {simd}}}\n" for n in names
    )
    return f"---\nversion: '1.20'\nkernels:\n{kernels}{more}...\n".encode()


def visaasm(mark: str, simd: int = 16) -> bytes:
    """Text that is vISA enough for whoever does not parse it."""
    return f'.version 4.1\n.kernel "kernel"\n// {mark}\n.kernel_attr SimdSize={simd}\n'.encode()


def symbol(name: int, section: int, value: int = 0, size: int = 0, info: int = 0x11) -> bytes:
    """One row of a 64-bit symbol table; `info` 0x11 is a global object, 0x02 a local function."""
    return struct.pack("<IBBHQQ", name, info, 0, section, value, size)


def note(kind: int, data: bytes, owner: bytes = b"IntelGT\0") -> bytes:
    """One note of `.note.intelgt.compat`."""
    head = struct.pack("<III", len(owner), len(data), kind)
    return head + owner + bytes(-len(owner) % 4) + data + bytes(-len(data) % 4)
