"""Texels by integer coordinates: `ld`, typed reads and writes; the sizes that `resinfo` gives."""

from __future__ import annotations

from collections.abc import Sequence

from eumu.device.compiled.coordinates import MipLevel, place_of_level
from eumu.device.compiled.frame import FrameLanes, begin, chunks, finish
from eumu.device.compiled.texels import (
    Piece,
    Texels,
    encode,
    encode_some,
    texel_function,
)
from eumu.device.compiled.writer import Body, Module
from eumu.device.state.surface import ONE, ZERO
from eumu.device.surfaces.places import exist
from eumu.exec.jit.llvm.vectors import Vector
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class LoadCoordinates:
    """A message with integer coordinates, by argument: x, y, slice, level; -1 is 0.

    Parameters of a message that its kind of surface ignores are -1 too.
    """

    texels: Texels
    coordinates: tuple[int, int, int, int]
    volume: bool  # slices are those of the level's depth
    mipmapped: bool
    data: tuple[int, ...] = ()  # arguments of a write, by channel
    results: tuple[int, ...] = ()  # channels 0 to 3, ZERO or ONE
    outside: tuple[int, ...] = ()  # what is read outside: ZERO or ONE
    bits: int = 32
    moved: bool = False

    @property
    def channels(self) -> tuple[int, ...]:
        """What is read of a texel."""
        wanted = {k for k in self.results if k < ZERO}
        return tuple(sorted(wanted or {min(self.texels.format.outputs)}))


@dataclass(frozen=True, slots=True)
class Spot:
    """A texel in every lane: 0 where `inside` says that it is not one of the surface."""

    place: MipLevel
    at: tuple[Vector, ...]  # x, y, slice
    inside: Vector

    @property
    def given(self) -> list[str]:
        """The arguments of the function `texel`."""
        return ["ptr %rec", *(v.typed for v in (self.place.left, self.place.row, *self.at))]

    def offsets(self, b: Body, kind: Texels) -> Vector:
        return kind.of_texel(b.every, self.place.left, self.place.row, self.at)


def spot(access: LoadCoordinates, lanes: FrameLanes) -> Spot:
    """The texels that lanes mean."""
    b = lanes.b
    arguments = []
    for n, index in enumerate(access.coordinates):
        value = lanes.argument(index, "i") if index >= 0 else b.constant(0)
        if access.moved and index >= 0 and (n < 2 or (n == 2 and access.volume)):
            value = value + b.every("offset", n)
        arguments.append(value)
    *at, level = arguments
    has_level = access.coordinates[3] >= 0
    inside = lanes.active
    if has_level:
        inside = inside & exist(b, [level], [b.every("levels")])
    place = place_of_level(b, b.where(inside, level, 0) if access.mipmapped else None)
    last = place.sizes[2] if access.volume else b.every("layers")
    asked = [n for n in range(3) if access.coordinates[n] >= 0]
    sizes = (*place.sizes[:2], last)
    inside = inside & exist(b, [at[n] for n in asked], [sizes[n] for n in asked])
    safe = (b.where(inside, v, 0) if n in asked else v for n, v in enumerate(at))
    return Spot(place, tuple(safe), inside)


def loading(access: LoadCoordinates, width: int) -> str:
    """LLVM text of a read."""
    module = Module(width)
    texel_function(module, access.texels, access.channels)
    b = begin(module)
    kind = access.texels
    with chunks(b, kind.response(access.bits, len(access.results))) as lanes:
        at = spot(access, lanes)
        texel = b.ask(kind.kind, len(access.channels), "texel", *at.given)
        numbers = {ZERO: b.splatted(kind.kind, 0), ONE: b.splatted(kind.kind, 1)}
        numbered = dict(zip(access.channels, texel, strict=True)) | numbers
        for n, (channel, nothing) in enumerate(zip(access.results, access.outside, strict=True)):
            value = b.where(at.inside, numbered[channel], numbers[nothing])
            lanes.result(n, value, access.bits)
    return finish(b)


def storing(access: LoadCoordinates, width: int) -> str:
    """LLVM text of a write; of lanes that write one texel the last one stays."""
    b = begin(Module(width))
    kind, format = access.texels, access.texels.format
    places, flags = (b.op(f"alloca {t}, align 64") for t in (b.i, b.lanes("i8")))
    data = b.op(f"alloca [4 x {b.i}], align 64")
    base = b.pointer("base")
    with chunks(b, []) as lanes:
        at = spot(access, lanes)
        b.store(b.i, at.offsets(b, kind).name, places)
        b.store_flags(at.inside, flags)
        values = {
            c.to[0]: lanes.argument(access.data[c.to[0]], kind.kind)
            for c in format.channels
            if access.data[c.to[0]] >= 0
        }
        is_whole = len(values) == len(format.channels)
        pieces = (encode if is_whole else encode_some)(b, format, values)
        for n, piece in enumerate(pieces):
            b.store(b.i, piece.value.name, b.at(data, 4 * width * n))
        _scatter(b, base, places, flags, data, pieces)
    return finish(b)


def _scatter(
    b: Body, base: str, places: str, flags: str, data: str, pieces: Sequence[Piece]
) -> None:
    """Store the lanes' texels in ascending order."""
    before = b.current_label()
    b.do("br label %each")
    b.label("each")
    b.do(f"%lane = phi i32 [ 0, %{before} ], [ %later, %done ]")
    flag = b.load("i8", b.op(f"getelementptr i8, ptr {flags}, i32 %lane"))
    b.do(f"br i1 {b.op(f'icmp ne i8 {flag}, 0')}, label %write, label %done")
    b.label("write")
    offset = b.load("i32", b.op(f"getelementptr i32, ptr {places}, i32 %lane"))
    where = b.at(base, offset)
    for n, piece in enumerate(pieces):
        row = b.at(data, 4 * b.width * n)
        word = b.load("i32", b.op(f"getelementptr i32, ptr {row}, i32 %lane"))
        if piece.bits < 32:
            word = b.op(f"trunc i32 {word} to i{piece.bits}")
        b.store(f"i{piece.bits}", word, b.at(where, piece.byte))
    b.do("br label %done")
    b.label("done")
    b.do("%later = add i32 %lane, 1")
    b.do(f"%again = icmp ult i32 %later, {b.width}")
    b.do("br i1 %again, label %each, label %written")
    b.label("written")


def sizing(lod: int, results: tuple[int, ...], bits: int, width: int) -> str:
    """resinfo: what the record's levels say; 0 for a level that there is not, and the count."""
    b = begin(Module(width))
    with chunks(b, [("i", bits)] * len(results)) as lanes:
        level = lanes.argument(lod, "i") if lod >= 0 else b.constant(0)
        levels = b.every("levels")
        inside = exist(b, [level], [levels])
        place = place_of_level(b, b.where(inside, level, 0))
        sizes = [b.where(inside, v, 0) for v in place.sizes]
        for n, channel in enumerate(results):
            lanes.result(n, [*sizes, levels][channel], bits)
    return finish(b)
