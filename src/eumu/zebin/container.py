"""What a file is, told from its first bytes, and what to do when it is not the compiler's ELF."""

from __future__ import annotations

import shlex
import struct
from typing import Final

from eumu.errors import FormatError

MACHINE: Final = 0xCD  # EM_INTELGT, "Intel Graphics Technology"
REL: Final = 1  # ET_REL

# The two options that make ocloc write an ELF with vISA text in it; the format that it writes
# without the first one ("patch tokens") has neither `.ze_info` nor vISA.
FORMAT_OPTIONS: Final = ("--format", "zebin", "-internal_options", "-ze-emit-zebin-visa-sections")

_ELF: Final = b"\x7fELF"
_ARCHIVE: Final = b"!<arch>\n"
_SPIRV: Final = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")
# ELF types of the OpenCL runtime's own containers, from 0xff01.
_OPENCL_TYPES: Final = {
    0xFF01: "a bundle of OpenCL sources",
    0xFF02: "a compiled but not linked OpenCL object (LLVM or SPIR-V)",
    0xFF03: "an OpenCL library (LLVM or SPIR-V)",
    0xFF05: "OpenCL debug data",
}
_PATCH_TOKENS: Final = "the compiler's older patch-token format, ocloc's default output"
_MACHINES: Final = {
    2: "SPARC",
    3: "x86",
    8: "MIPS",
    20: "PowerPC",
    21: "PowerPC64",
    22: "S/390",
    40: "Arm",
    62: "x86-64",
    183: "AArch64",
    190: "NVIDIA CUDA",
    224: "AMD GPU",
    243: "RISC-V",
    247: "eBPF",
}


def rebuild(device: str = "DEVICE", options: str = "") -> str:
    """The command that makes a program with vISA text for a device, as ocloc calls it."""
    words = ["ocloc compile -file k.cl -device", device, *FORMAT_OPTIONS]
    if options:
        words += ["-options", shlex.quote(options)]
    return f"build it with: {' '.join(words)}"


def is_elf(data: bytes) -> bool:
    """True for any ELF file, also one for another machine."""
    return data[:4] == _ELF


def is_spirv(data: bytes) -> bool:
    """True for a SPIR-V module of either byte order."""
    return data[:4] in _SPIRV


def check(data: bytes, name: str) -> None:
    """Raises FormatError, saying what the bytes are instead, unless they start a compiler's ELF."""
    if not is_elf(data):
        raise FormatError(f"{name}: not an ELF file but {_foreign(data)}")
    if len(data) < 20:
        raise FormatError(f"{name}: the ELF header is cut off at {len(data)} bytes")
    if data[5] != 1:
        raise FormatError(f"{name}: byte 5 of the ELF header is {data[5]}; only 1 is known (LSB)")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if kind == 0xFF04:
        raise FormatError(f"{name}: {_PATCH_TOKENS}; {rebuild()}")
    if kind in _OPENCL_TYPES:
        raise FormatError(f"{name}: {_OPENCL_TYPES[kind]}, not a program for a device; {rebuild()}")
    if machine != MACHINE:
        what = _MACHINES.get(machine, f"machine {machine:#x}")
        raise FormatError(
            f"{name}: an ELF file for {what} (type {kind:#x}); "
            f"Intel's GPU programs have machine {MACHINE:#x}"
        )
    if kind != REL:
        raise FormatError(f"{name}: ELF type {kind:#x}; the compiler writes type 1 (relocatable)")


def _foreign(data: bytes) -> str:
    if not data:
        return "empty"
    if data.startswith(_ARCHIVE):
        return _archive(data)
    if is_spirv(data):
        return "a SPIR-V module, which ocloc must compile for a device first"
    if data.startswith(b"CTNI"):
        return f"{_PATCH_TOKENS} without its ELF; {rebuild()}"
    if data.startswith(b"CISA"):
        return "a vISA object file"
    if data.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b")):
        return "LLVM bitcode, which ocloc must compile for a device first"
    if data.startswith(b"MZ"):
        return "a Windows program"
    if data[:256].isascii() and b"\0" not in data[:256]:
        return f"text that begins {data[:24].decode('ascii').splitlines()[:1]}"
    return f"bytes that begin {data[:8].hex(' ')}"


def _archive(data: bytes) -> str:
    members: list[str] = []
    position = len(_ARCHIVE)
    while position + 60 <= len(data) and len(members) < 32:
        size = data[position + 48 : position + 58].strip()
        if not size.isdigit():
            break
        title = data[position : position + 16].decode("ascii", "replace").strip().rstrip("/")
        if not title.startswith("pad_"):
            members.append(title or "/")
        position += 60 + int(size) + (int(size) & 1)
    return (
        f"an archive of programs for several devices ({', '.join(members) or 'without members'}); "
        "give ocloc one device, or take the member of yours out of it with `ar x`"
    )
