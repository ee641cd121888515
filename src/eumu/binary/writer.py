"""Writes object files: the objects first, then the header that says where they lie."""

from __future__ import annotations

from eumu.binary import layout
from eumu.binary.attributes import encode_string
from eumu.binary.object_writer import ObjectWriter
from eumu.errors import BuildError, Diagnostic
from eumu.isa.kinds.bytes import Version
from eumu.program import Kernel, Module
from eumu.records import dataclass

_NOTHING = b"\0\0\0\0"  # two empty lists of relocations


def write(module: Module, grf_bytes: int = 32) -> bytes:
    """The object file of a program, in the program's version.

    `grf_bytes` is the register size of the device, which the offsets of `&V[n]` are counted in.
    A module that was read from an object file is written as it was.  Raises `BuildError` with every
    instruction that has no binary form.
    """
    version = module.version
    if version < layout.OLDEST or version[0] > layout.NEWEST_MAJOR or version[1] > 0xFF:
        shown = f"{version[0]}.{version[1]}"
        raise BuildError(f"version {shown} has no object file; 3.4 to 4.255 can be written")
    diagnostics: list[Diagnostic] = []
    objects = []
    for kernel in module.kernels:
        objects.append(
            _Object(kernel, *ObjectWriter(kernel, version, grf_bytes, diagnostics).write())
        )
    if diagnostics:
        raise BuildError.of(diagnostics)
    size = len(_header(objects, version, 0))
    if size + sum(o.size for o in objects) >= 1 << 32:
        raise BuildError("an object file has less than 4 GiB")
    header = _header(objects, version, size)
    parts = [part for o in objects for part in (o.data, *(b.code for b in o.kernel.gen_binaries))]
    return header + b"".join(parts) + module.tail


@dataclass(frozen=True, slots=True)
class _Object:
    """A kernel or function as bytes, and the offset of its inputs in them."""

    kernel: Kernel
    data: bytes
    inputs: int

    @property
    def size(self) -> int:
        """Bytes, native code included."""
        return len(self.data) + sum(len(b.code) for b in self.kernel.gen_binaries)


def _header(objects: list[_Object], version: Version, begin: int) -> bytes:
    """The header of objects that lie one behind the other from `begin` on."""
    kernels, functions = [], []
    offset = begin
    for item in objects:
        if item.kernel.is_function:
            functions.append(_function_entry(item, version, offset))
        else:
            kernels.append(_kernel_entry(item, version, offset))
        offset += item.size
    if max(len(kernels), len(functions)) > 0xFFFF:
        raise BuildError("an object file has at most 65535 kernels and 65535 functions")
    return b"".join(
        (
            *(layout.MAGIC, bytes(version)),
            *(_u16(len(kernels)), *kernels),
            _u16(0),
            *(_u16(len(functions)), *functions),
        )
    )


def _kernel_entry(item: _Object, version: Version, offset: int) -> bytes:
    places = _u32(offset) + _u32(len(item.data)) + _u32(offset + item.inputs)
    binaries = item.kernel.gen_binaries
    if len(binaries) > 0xFF:
        raise BuildError(f"'{item.kernel.name}' has more than 255 native binaries")
    listed = b""
    at = offset + len(item.data)
    for binary in binaries:
        listed += bytes([binary.platform]) + _u32(at) + _u32(len(binary.code))
        at += len(binary.code)
    return _name(item.kernel, version) + places + _NOTHING + bytes([len(binaries)]) + listed


def _function_entry(item: _Object, version: Version, offset: int) -> bytes:
    linkage = item.kernel.form.linkage if item.kernel.form else 0
    name = _name(item.kernel, version)
    return bytes([linkage]) + name + _u32(offset) + _u32(len(item.data)) + _NOTHING


def _name(kernel: Kernel, version: Version) -> bytes:
    data = encode_string(kernel.name)
    most = 0xFFFF if version >= layout.LONG_NAMES else 0xFF
    if len(data) > most:
        raise BuildError(f"the name of a kernel has {len(data)} bytes; {most} is the most")
    return (_u16(len(data)) if most > 0xFF else bytes([len(data)])) + data


def _u16(value: int) -> bytes:
    return value.to_bytes(2, "little")


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")
