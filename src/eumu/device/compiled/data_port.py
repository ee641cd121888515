"""Inline caches for typed reads, writes and atomics, and for blocks."""

from __future__ import annotations

from typing import Any

from eumu.device.compiled.atomics import Atomic, changing
from eumu.device.compiled.blocks import MessageBlock, moving
from eumu.device.compiled.frame import begin, finish
from eumu.device.compiled.known import KnownMessage, chosen, made, record_of, texels_of
from eumu.device.compiled.loads import LoadCoordinates, loading, storing
from eumu.device.compiled.texels import can_keep, can_read, can_write
from eumu.device.compiled.writer import Module
from eumu.device.state.surface import ONE, ZERO, SurfaceType
from eumu.device.surfaces.formats import Encoding, Numbers
from eumu.device.surfaces.typed import plane, suits
from eumu.exec.host import InlineCache
from eumu.messages import BlockWrite


def _access(asked: KnownMessage, **more: Any) -> LoadCoordinates:
    surface, names = asked.surface, asked.message.coordinates
    numbers = {name: 1 + n for n, name in enumerate(names)}
    x, y, slice, lod = (numbers.get(n, -1) for n in (*surface.coordinates, "lod"))
    return LoadCoordinates(
        texels_of(surface, slices=slice >= 0),
        (x, y, slice, lod),
        surface.kind is SurfaceType.S3D,
        surface.levels > 1 and lod >= 0,
        **more,
    )


def typed_read(asked: KnownMessage) -> InlineCache | None:
    surface, message = asked.surface, asked.message
    if surface.format.encoding is not Encoding.PLAIN or not can_read(surface.format):
        return None
    access = _access(
        asked,
        results=chosen(surface, message.channels),
        outside=tuple(ONE if k == 3 else ZERO for k in message.channels),
    )
    return made(asked, record_of(asked), loading, access)


def typed_write(asked: KnownMessage) -> InlineCache | None:
    surface, message = asked.surface, asked.message
    channels, format = frozenset(message.channels), surface.format
    if not can_write(format) or (format.outputs - channels and not can_keep(format, channels)):
        return None
    if not any(c.to[0] in channels for c in format.channels):
        return None
    first = 1 + len(message.coordinates)
    data = [-1] * 4
    for n, channel in enumerate(message.channels):
        data[channel] = first + n
    access = _access(asked, data=tuple(data))
    return made(asked, record_of(asked), storing, access)


def typed_atomic(asked: KnownMessage) -> InlineCache | None:
    surface, message = asked.surface, asked.message
    if not suits(surface.format, message):
        return None
    if message.bits == 16 and surface.format.channels[0].numbers is Numbers.FLOAT:
        return None
    first = 1 + len(message.coordinates)
    access = _access(asked, data=tuple(range(first, first + message.operands)))
    atomic = Atomic(access, message.operation, message.kind, message.bits)
    return made(asked, record_of(asked), changing, atomic)


def counter_address(asked: KnownMessage) -> InlineCache:
    record = record_of(asked)
    record["counter"] = asked.surface.counter
    return made(asked, record, _finding, width=1)


def _finding(width: int) -> str:
    """LLVM text that answers with the record's `counter`."""
    b = begin(Module(width))
    b.store("i64", b.field("counter"), b.at("%data", b.field("result")))
    return finish(b)


# ---- blocks


def block_message(asked: KnownMessage) -> InlineCache | None:
    surface, message = asked.surface, asked.message
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
    record = record_of(asked)
    *extent, first = plane(surface, message.plane)
    record["level"][0, 0, 4] += first
    record["extent"] = extent
    block = MessageBlock(
        message.width,
        message.height,
        message.pitch,
        surface.layout,
        not writes and message.media,
        writes,
    )
    return made(asked, record, moving, block, width=1)
