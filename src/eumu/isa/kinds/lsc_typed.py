"""Operands of the typed LSC instructions: coordinates in an image.

Source: vISA page "LSC_TYPED".
"""

from __future__ import annotations

import re
from typing import Any

from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_raw, unpack_raw
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import offset
from eumu.isa.kinds.lsc_encoding import (
    MODELS,
    choose,
    pack_surface,
    unpack_index,
    unpack_surface,
)
from eumu.isa.kinds.lsc_model import parse_model, print_model
from eumu.isa.kinds.operands import General, Immediate, Raw
from eumu.isa.kinds.raw import RawKind
from eumu.records import dataclass

_COORDINATES = ("u", "v", "r", "lod")
_OFFSETS = ("du", "dv", "dr")
_SIZE = re.compile(r":a(32|64)((?<=32)u)?\b")
# As the object file has them.
_SIZES = (None, (16, ""), (32, ""), (64, ""), (32, "u"))


@dataclass(frozen=True, slots=True)
class SurfaceModel:
    """`bti(0x4)`, `ss(V)`, `bss(V(0,1),0x2)`: `index` counts surface states from the surface on."""

    model: str
    surface: General | Immediate | None
    index: int = 0


class SurfaceModelKind(Kind):
    """The surface of a typed message; it has no flat addresses."""

    manual = "a surface: bti(0x4), ss(V), bss(V)"
    example = "bti(0x4)"
    codes = ("model", "surface", "index")

    def parse(self, cursor: Cursor, names: Names) -> SurfaceModel:
        start = cursor.skip()
        model, surface, index = parse_model(cursor, names)
        if surface is None:
            cursor.fail("expected a surface: bti(..), ss(..) or bss(..)", start=start)
        return SurfaceModel(model, surface, index)

    def print(self, operand: SurfaceModel) -> str:
        return print_model(operand.model, operand.surface, operand.index)

    def pack_code(self, code: str, operand: SurfaceModel, out: Packer) -> None:
        if code == "model":
            out.code(MODELS, operand.model, "the model of a surface")
        elif code == "index":
            out.u32(operand.index, "the index of a surface state")
        else:
            pack_surface(operand.surface, out)

    def left_out(self, code: str, operand: SurfaceModel) -> bool:
        return code == "index" and not operand.index

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        if code == "surface":
            return unpack_surface(source, parts["model"])
        if code == "index":
            return unpack_index(source, parts["model"])
        at, model = source.pos, choose(source, MODELS, "the model of a surface")
        if model in ("flat", "arg"):
            source.fail(f"the model {model} names no surface", at)
        return model

    def join(self, parts: dict[str, Any]) -> SurfaceModel:
        return SurfaceModel(parts["model"], parts["surface"], parts.get("index", 0))


@dataclass(frozen=True, slots=True)
class TypedAddress:
    """`bti(0x4)[U, V+1, R, LOD]:a32`; missing coordinates are null operands.

    `offsets` are what is added to u, v and r, numbers of the instruction, since version 4.2.
    `extension` u is how Xe3p's compiler writes coordinates of 32 bits.
    """

    surface: SurfaceModel
    u: Raw
    v: Raw
    r: Raw
    lod: Raw
    size: int
    offsets: tuple[int, int, int] = (0, 0, 0)
    extension: str = ""


class TypedAddressKind(Kind):
    """One to four coordinates; Intel's printer fills up with `%null`, but its parser refuses that,
    so the missing ones are left out here.  The documents' 64-bit coordinates are read as well.
    """

    manual = "the surface and one to four coordinates: bti(0x4)[u, v, r, lod]:a32"
    example = "bti(0x4)[u, v]:a32"
    codes = ("model", "size", "surface", "index", *_COORDINATES, *_OFFSETS)
    _surface = SurfaceModelKind()
    _register = RawKind(bare=True)

    def parse(self, cursor: Cursor, names: Names) -> TypedAddress:
        surface = self._surface.parse(cursor, names)
        cursor.expect("[", "and coordinates, as in bti(0x4)[V32, V33]:a32")
        registers = [self._register.parse(cursor, names)]
        offsets = [offset(cursor, names)]
        while len(registers) < 4 and cursor.take(","):
            registers.append(self._register.parse(cursor, names))
            offsets.append(offset(cursor, names) if len(registers) < 4 else 0)
        cursor.expect("]")
        size = cursor.need(_SIZE, "the size of a coordinate, as in :a32")
        u, v, r, lod = (*registers, *[Raw(None)] * (4 - len(registers)))
        du, dv, dr, *_ = *offsets, 0, 0, 0
        return TypedAddress(surface, u, v, r, lod, int(size[1]), (du, dv, dr), size[2] or "")

    def print(self, operand: TypedAddress) -> str:
        coordinates = [operand.u, operand.v, operand.r, operand.lod]
        while len(coordinates) > 1 and coordinates[-1].variable is None:
            coordinates.pop()
        added = [f"{n:+d}" if n else "" for n in (*operand.offsets, 0)]
        inside = ", ".join(
            self._register.print(c) + n for c, n in zip(coordinates, added, strict=False)
        )
        return (
            f"{self._surface.print(operand.surface)}[{inside}]:a{operand.size}{operand.extension}"
        )

    def pack_code(self, code: str, operand: TypedAddress, out: Packer) -> None:
        if code in _COORDINATES:
            pack_raw(getattr(operand, code), out)
        elif code in _OFFSETS:
            out.number("i", operand.offsets[_OFFSETS.index(code)], "what is added to a coordinate")
        elif code == "size":
            out.code(_SIZES, (operand.size, operand.extension), "the size of a coordinate")
        else:
            self._surface.pack_code(code, operand.surface, out)

    def left_out(self, code: str, operand: TypedAddress) -> bool:
        if code in _OFFSETS:
            return not operand.offsets[_OFFSETS.index(code)]
        return self._surface.left_out(code, operand.surface)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        if code in _COORDINATES:
            return unpack_raw(source)
        if code in _OFFSETS:
            return source.i32("what is added to a coordinate")
        if code == "size":
            return choose(source, _SIZES, "the size of a coordinate")
        return self._surface.unpack_code(code, source, parts)

    def join(self, parts: dict[str, Any]) -> TypedAddress:
        u, v, r, lod = (parts[c] for c in _COORDINATES)
        du, dv, dr = (parts.get(c, 0) for c in _OFFSETS)
        size, extension = parts["size"]
        surface = self._surface.join(parts)
        return TypedAddress(surface, u, v, r, lod, size, (du, dv, dr), extension)
