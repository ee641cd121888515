"""Reads object files: the header, then each object.

Every size, count and offset is checked against the bytes there are before anything is made of it;
whatever is wrong is a FormatError that names the offset.
"""

from __future__ import annotations

from eumu.binary import layout
from eumu.binary.attributes import decode_string
from eumu.binary.objects import ObjectReader
from eumu.errors import FormatError
from eumu.isa.kinds.bytes import Unpacker, Version
from eumu.platforms import Platform, platform
from eumu.program import GenBinary, Kernel, Module
from eumu.records import dataclass

# The least bytes that an entry of the header has.
_LEAST_ENTRY = 13


def is_object_file(data: bytes) -> bool:
    """Whether data begins as an object file does."""
    return data[:4] == layout.MAGIC


def read(data: bytes, name: str = "<object file>", grf_bytes: int = 32) -> Module:
    """The program in an object file.

    `name` stands in messages; `grf_bytes` is the register size of the device that the file is for,
    which the offsets of `&V[n]` are counted in.
    """
    if not is_object_file(data):
        magic = data[:4].hex() or "nothing"
        raise FormatError(f"{name}: offset 0x0: no object file begins with {magic}; 'CISA' does")
    header = Unpacker(data, 4, len(data), name=name, version=(0, 0), grf_bytes=grf_bytes)
    version = header.u8("the version"), header.u8("the version")
    if version < layout.OLDEST or version[0] > layout.NEWEST_MAJOR:
        header.fail(f"version {version[0]}.{version[1]}; 3.4 to 4.x can be read", 4)
    header.version = version
    entries = _read_header(header, version)
    # The order of a text is that of the objects, whichever list they are in.
    entries.sort(key=lambda entry: entry.offset)
    kernels = tuple(_read_entry(header, entry) for entry in entries)
    return Module(version, kernels, name, data[_end(entries, header.pos) :])


def made_for(module: Module) -> Platform | None:
    """The one platform that the native code of all kernels is for, if that can be told."""
    numbers = {b.platform for k in module.kernels if not k.is_function for b in k.gen_binaries}
    name = layout.PLATFORMS.get(numbers.pop()) if len(numbers) == 1 else None
    return platform(name) if name else None


@dataclass(frozen=True, slots=True)
class _Entry:
    """What the header says of an object; offsets count from the beginning of the file."""

    name: str
    is_function: bool
    at: int
    offset: int
    size: int
    inputs: int
    linkage: int
    binaries: tuple[tuple[int, int, int], ...]  # platform, offset, size


def _read_header(header: Unpacker, version: Version) -> list[_Entry]:
    kernels = _count(header, "kernels")
    entries = [_read_kernel_entry(header, version) for _ in range(kernels)]
    at = header.pos
    if variables := header.u16("the number of variables of the file"):
        header.fail(f"{variables} variables of the whole file, which no version ever had", at)
    functions = _count(header, "functions")
    entries += [_read_function_entry(header, version) for _ in range(functions)]
    used = sum(entry.size + sum(size for _, _, size in entry.binaries) for entry in entries)
    if used > len(header.data) - header.pos:
        header.fail(f"objects of {used} bytes; {len(header.data) - header.pos} are left")
    return entries


def _count(header: Unpacker, what: str) -> int:
    at = header.pos
    count = header.u16(f"the number of {what}")
    if count * _LEAST_ENTRY > header.end - header.pos:
        header.fail(f"{count} {what} in {header.end - header.pos} bytes", at)
    return count


def _read_kernel_entry(header: Unpacker, version: Version) -> _Entry:
    at = header.pos
    name = _read_name(header, version)
    offset, size, inputs = (header.u32("the place of a kernel") for _ in range(3))
    _no_relocations(header)
    count = header.u8("the number of native binaries")
    binaries = tuple(
        (header.u8("a platform"), header.u32("a native binary"), header.u32("a native binary"))
        for _ in range(count)
    )
    return _Entry(name, False, at, offset, size, inputs, 0, binaries)


def _read_function_entry(header: Unpacker, version: Version) -> _Entry:
    at = header.pos
    linkage = header.u8("the linkage of a function")
    name = _read_name(header, version)
    offset, size = (header.u32("the place of a function") for _ in range(2))
    _no_relocations(header)
    return _Entry(name, True, at, offset, size, 0, linkage, ())


def _read_name(header: Unpacker, version: Version) -> str:
    long = version >= layout.LONG_NAMES
    length = header.u16("the length of a name") if long else header.u8("the length of a name")
    start = header.need(length, "a name")
    name = header.data[start : header.pos]
    if 0 in name:
        header.fail("a name with a NUL", start)
    return decode_string(name)


def _no_relocations(header: Unpacker) -> None:
    for _ in range(2):
        at = header.pos
        if count := header.u16("the number of relocations"):
            header.fail(f"{count} relocations, which no known file has", at)


def _read_entry(header: Unpacker, entry: _Entry) -> Kernel:
    begin = _checked(header, entry, "object", entry.offset, entry.size)
    source = Unpacker(
        header.data, begin, begin + entry.size,
        name=header.name, version=header.version, grf_bytes=header.grf_bytes,
    )  # fmt: skip
    binaries = []
    for number, offset, size in entry.binaries:
        start = _checked(header, entry, "native binary", offset, size)
        binaries.append(GenBinary(number, header.data[start : start + size]))
    return ObjectReader(source, entry.name, entry.is_function).read(
        entry.inputs, entry.linkage, tuple(binaries)
    )


def _checked(header: Unpacker, entry: _Entry, what: str, offset: int, size: int) -> int:
    if offset < header.pos or size > len(header.data) or offset > len(header.data) - size:
        header.fail(
            f"the {what} of '{entry.name}' has {size} bytes at {offset:#x};"
            f" it must lie between {header.pos:#x} and {len(header.data):#x}",
            entry.at,
        )
    return offset


def _end(entries: list[_Entry], least: int) -> int:
    """Where the last object or native binary ends."""
    ends = [least]
    for entry in entries:
        ends.append(entry.offset + entry.size)
        ends += [offset + size for _, offset, size in entry.binaries]
    return max(ends)
