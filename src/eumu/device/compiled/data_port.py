"""Inline caches for typed reads, writes and atomics, and for blocks."""

from __future__ import annotations

from typing import Any

from eumu.device.compiled.atomics import Atomic, changing
from eumu.device.compiled.blocks import Block, moving
from eumu.device.compiled.frame import begin, finish
from eumu.device.compiled.known import Known, chosen, made, record_of, texels_of
from eumu.device.compiled.loads import Access, loading, storing
from eumu.device.compiled.texels import can_keep, can_read, can_write
from eumu.device.compiled.writer import Module
from eumu.device.state.surface import ONE, ZERO, SurfaceType
from eumu.device.surfaces.formats import Encoding, Numbers
from eumu.device.surfaces.typed import plane, suits
from eumu.exec.host import InlineCache
from eumu.messages import BlockWrite


def _access(known: Known, **more: Any) -> Access:
    surface, names = known.surface, known.message.coordinates
    given = {name: 1 + n for n, name in enumerate(names)}
    x, y, slice, lod = (given.get(n, -1) for n in (*surface.coordinates, "lod"))
    return Access(
        texels_of(surface, slices=slice >= 0),
        (x, y, slice, lod),
        surface.kind is SurfaceType.S3D,
        surface.levels > 1 and lod >= 0,
        **more,
    )


def typed_read(known: Known) -> InlineCache | None:
    surface, message = known.surface, known.message
    if surface.format.encoding is not Encoding.PLAIN or not can_read(surface.format):
        return None
    access = _access(
        known,
        results=chosen(surface, message.channels),
        outside=tuple(ONE if k == 3 else ZERO for k in message.channels),
    )
    return made(known, record_of(known), loading, access)


def typed_write(known: Known) -> InlineCache | None:
    surface, message = known.surface, known.message
    given, format = frozenset(message.channels), surface.format
    if not can_write(format) or (format.outputs - given and not can_keep(format, given)):
        return None
    if not any(c.to[0] in given for c in format.channels):
        return None
    first = 1 + len(message.coordinates)
    data = [-1] * 4
    for n, channel in enumerate(message.channels):
        data[channel] = first + n
    access = _access(known, data=tuple(data))
    return made(known, record_of(known), storing, access)


def typed_atomic(known: Known) -> InlineCache | None:
    surface, message = known.surface, known.message
    if not suits(surface.format, message):
        return None
    if message.bits == 16 and surface.format.channels[0].numbers is Numbers.FLOAT:
        return None
    first = 1 + len(message.coordinates)
    access = _access(known, data=tuple(range(first, first + message.operands)))
    atomic = Atomic(access, message.operation, message.kind, message.bits)
    return made(known, record_of(known), changing, atomic)


def counter_address(known: Known) -> InlineCache:
    record = record_of(known)
    record["counter"] = known.surface.counter
    return made(known, record, _finding, width=1)


def _finding(width: int) -> str:
    """LLVM text that answers with the record's `counter`."""
    b = begin(Module(width))
    b.store("i64", b.field("counter"), b.at("%data", b.field("result")))
    return finish(b)


# ---- blocks


def block_message(known: Known) -> InlineCache | None:
    surface, message = known.surface, known.message
    is_planar = surface.format.encoding is Encoding.PLANAR
    refused = (
        surface.kind is not SurfaceType.S2D,
        message.plane > is_planar,
        bool(message.field),
        bool(surface.state.vertical_line_stride),
    )
    if any(refused):
        return None
    writes = isinstance(message, BlockWrite)
    record = record_of(known)
    *extent, first = plane(surface, message.plane)
    record["level"][0, 0, 4] += first
    record["extent"] = extent
    block = Block(
        message.width,
        message.height,
        message.pitch,
        surface.layout,
        not writes and message.media,
        writes,
    )
    return made(known, record, moving, block, width=1)
