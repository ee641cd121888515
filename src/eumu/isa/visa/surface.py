"""Legacy buffer messages: blocks of owords, gathers, scatters and atomics through a surface.

Shared local memory is the surface `%slm`, the thread's scratch space is `%scratch`; all others are
binding-table entries that `movs` names.  The field `scale` of the object file is always zero.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from eumu.ir import Value
from eumu.isa.kinds import Exec, InstBuilder, Pred, RawDst, RawSrc, Rows, Scalar, Surface
from eumu.isa.kinds.raw import (
    AtomicKind,
    AtomicOperation,
    BlockSize,
    BlockSizeKind,
    ChannelsKind,
    CountKind,
    OptionalWordKind,
)
from eumu.isa.limits import SIZES, FrontEnd, sizes
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.memory import (
    DWORD,
    QWORD,
    Atomic,
    MemoryTarget,
    in_dwords,
    load_block,
    load_channels,
    store_block,
    store_channels,
    surface_target,
)
from eumu.isa.visa.registry import opcode
from eumu.types import BOOL, UD

Channels = Annotated[tuple[int, ...], ChannelsKind()]
Bytes = Annotated[int, CountKind("the number of bytes", 1, 2, 4)]
Blocks = Annotated[int, CountKind("the number of blocks", 1)]
Owords = Annotated[BlockSize, BlockSizeKind()]
Modified = Annotated[bool, OptionalWordKind("mod")]
Operation = Annotated[AtomicOperation, AtomicKind(16, 32)]

ATOMICS: dict[str, Atomic] = {
    "add": Atomic("add"),
    "sub": Atomic("sub"),
    "inc": Atomic("inc", sources=()),
    "dec": Atomic("dec", sources=()),
    "min": Atomic("min"),
    "max": Atomic("max"),
    "xchg": Atomic("xchg"),
    "cmpxchg": Atomic("cmpxchg", sources=(0, 1)),
    "and": Atomic("and"),
    "or": Atomic("or"),
    "xor": Atomic("xor"),
    "minsint": Atomic("min", "signed"),
    "maxsint": Atomic("max", "signed"),
    "predec": Atomic("predec", sources=()),
    "fmax": Atomic("max", "float"),
    "fmin": Atomic("min", "float"),
    # The operands of fcmpwr are those of cmpxchg the other way round (page "DWORD_ATOMIC").
    "fcmpwr": Atomic("cmpxchg", "float", (1, 0)),
    "fadd": Atomic("add", "float"),
    "fsub": Atomic("add", "float", negate=True),
}


channelwise = partial(
    opcode, types=maps.SURFACE_DATA, limits=maps.EIGHT_OR_SIXTEEN, front_end=maps.OF_ANY_SIZE
)
quadwise = partial(
    opcode,
    types=maps.QUAD_DATA,
    limits=maps.UP_TO_SIXTEEN,
    front_end=maps.OF_ANY_SIZE,
    platforms=maps.QUADS,
)


def _scattered(
    b: InstBuilder, surface: Surface, offset: Value, offsets: Rows, scale: int = 1
) -> tuple[MemoryTarget, Value]:
    """The target, and each lane's byte offset: (offset + offsets[i]) * scale."""
    target = surface_target(b, surface)
    lanes = b.row_read(offsets, 0, UD, b.width)
    if not b.is_zero(offset):
        lanes = b.add(lanes, b.splat(b.convert(offset, UD), b.width))
    if scale > 1:
        lanes = b.mul(lanes, b.const(UD, scale, b.width))
    return target, target.offsets(b, lanes)


@channelwise(
    0x74,
    "{pred}gather4_scaled.{channels} {exec} {surface} {offset} {offsets} {dst}",
    page="GATHER4_SCALED",
    layout="exec pred channels 0000 surface offset offsets dst",
)
def gather4_scaled(
    b: InstBuilder,
    channels: Channels,
    surface: Surface,
    offset: Scalar,
    offsets: RawSrc,
    dst: RawDst,
) -> None:
    """Dword c of each lane at offset + offsets[i], for each channel c, to the next registers."""
    target, lanes = _scattered(b, surface, offset, offsets)
    b.aligned(4)
    load_channels(b, target, lanes, dst, DWORD, channels)


@channelwise(
    0x75,
    "{pred}scatter4_scaled.{channels} {exec} {surface} {offset} {offsets} {src}",
    page="SCATTER4_SCALED",
    layout="exec pred channels 0000 surface offset offsets src",
)
def scatter4_scaled(
    b: InstBuilder,
    channels: Channels,
    surface: Surface,
    offset: Scalar,
    offsets: RawSrc,
    src: RawSrc,
) -> None:
    """Write the channels' dwords of each lane to offset + offsets[i]."""
    target, lanes = _scattered(b, surface, offset, offsets)
    b.aligned(4)
    store_channels(b, target, lanes, src, DWORD, channels)


@opcode(
    0x78,
    "{pred}gather_scaled.{bytes} {exec} {surface} {offset} {offsets} {dst}",
    page="GATHER_SCALED",
    types=maps.SURFACE_DATA,
    layout="exec pred 00 bytes 0000 surface offset offsets dst",
)
def gather_scaled(
    b: InstBuilder, bytes: Bytes, surface: Surface, offset: Scalar, offsets: RawSrc, dst: RawDst
) -> None:
    """1, 2 or 4 bytes of each lane at offset + offsets[i], to a dword each, upper bytes zero."""
    target, lanes = _scattered(b, surface, offset, offsets)
    load_channels(b, target, lanes, dst, in_dwords(bytes), (0,))


@opcode(
    0x79,
    "{pred}scatter_scaled.{bytes} {exec} {surface} {offset} {offsets} {src}",
    page="SCATTER_SCALED",
    types=maps.SURFACE_DATA,
    layout="exec pred 00 bytes 0000 surface offset offsets src",
)
def scatter_scaled(
    b: InstBuilder, bytes: Bytes, surface: Surface, offset: Scalar, offsets: RawSrc, src: RawSrc
) -> None:
    """Write the low 1, 2 or 4 bytes of each lane's dword to offset + offsets[i]."""
    target, lanes = _scattered(b, surface, offset, offsets)
    store_channels(b, target, lanes, src, in_dwords(bytes), (0,))


@opcode(
    0x39,
    "gather.{bytes} {exec} {surface} {offset} {offsets} {dst}",
    page="GATHER",
    types=maps.ELEMENT_DATA,
    layout="bytes 00 exec.elements surface offset offsets dst",
)
def gather(
    b: InstBuilder,
    bytes: Bytes,
    exec: Exec,
    surface: Surface,
    offset: Scalar,
    offsets: RawSrc,
    dst: RawDst,
) -> None:
    """Element offset + offsets[i] of `bytes` bytes, to a dword each, upper bytes zero."""
    target, lanes = _scattered(b, surface, offset, offsets, bytes)
    load_channels(b, target, lanes, dst, in_dwords(bytes), (0,))


@opcode(
    0x3A,
    "scatter.{bytes} {exec} {surface} {offset} {offsets} {src}",
    page="SCATTER",
    types=maps.ELEMENT_DATA,
    layout="bytes exec.elements surface offset offsets src",
)
def scatter(
    b: InstBuilder,
    bytes: Bytes,
    exec: Exec,
    surface: Surface,
    offset: Scalar,
    offsets: RawSrc,
    src: RawSrc,
) -> None:
    """Write the low bytes of each lane's dword to element offset + offsets[i]."""
    target, lanes = _scattered(b, surface, offset, offsets, bytes)
    store_channels(b, target, lanes, src, in_dwords(bytes), (0,))


@quadwise(0x86, "{pred}qw_gather.{blocks} {exec} {surface} {offsets} {dst}", page="QW_GATHER")
def qw_gather(
    b: InstBuilder, blocks: Blocks, surface: Surface, offsets: RawSrc, dst: RawDst
) -> None:
    """The quadword at byte offset offsets[i] of each lane."""
    target = surface_target(b, surface)
    lanes = target.offsets(b, b.row_read(offsets, 0, UD, b.width))
    load_channels(b, target, lanes, dst, QWORD, range(blocks))


@quadwise(0x87, "{pred}qw_scatter.{blocks} {exec} {surface} {offsets} {src}", page="QW_SCATTER")
def qw_scatter(
    b: InstBuilder, blocks: Blocks, surface: Surface, offsets: RawSrc, src: RawSrc
) -> None:
    """Write each lane's quadword to byte offset offsets[i]."""
    target = surface_target(b, surface)
    lanes = target.offsets(b, b.row_read(offsets, 0, UD, b.width))
    store_channels(b, target, lanes, src, QWORD, range(blocks))


def _block(
    b: InstBuilder, surface: Surface, offset: Value, unit: int
) -> tuple[MemoryTarget, Value, Value]:
    """Target, byte offset and mask of a block access, which no execution mask reaches."""
    target = surface_target(b, surface)
    start = b.mul(b.convert(offset, UD), b.const(UD, unit)) if unit > 1 else offset
    return target, target.offsets(b, start), b.const(BOOL, 1)


@opcode(
    0x35,
    "oword_ld{modified} {size} {surface} {offset} {dst}",
    page="OWORD_LD",
    limits=maps.SLM_BLOCKS,
)
def oword_ld(
    b: InstBuilder, size: Owords, modified: Modified, surface: Surface, offset: Scalar, dst: RawDst
) -> None:
    """Owords offset .. offset+size-1 of the surface; the execution mask plays no part."""
    target, start, mask = _block(b, surface, offset, 16)
    load_block(b, target, start, dst, UD, size.bytes // 4, mask)


@opcode(
    0x3C,
    "oword_ld_unaligned{modified} {size} {surface} {offset} {dst}",
    page="OWORD_LD",
    limits=maps.SLM_BLOCKS,
)
def oword_ld_unaligned(
    b: InstBuilder, size: Owords, modified: Modified, surface: Surface, offset: Scalar, dst: RawDst
) -> None:
    """Size owords from byte `offset` on, a multiple of 4."""
    target, start, mask = _block(b, surface, offset, 1)
    b.aligned(4)
    load_block(b, target, start, dst, UD, size.bytes // 4, mask)


@opcode(
    0x36,
    "oword_st {size} {surface} {offset} {src}",
    page="OWORD_ST",
    limits=maps.SLM_BLOCKS,
)
def oword_st(b: InstBuilder, size: Owords, surface: Surface, offset: Scalar, src: RawSrc) -> None:
    """Write owords offset .. offset+size-1 of the surface; the execution mask plays no part."""
    target, start, mask = _block(b, surface, offset, 16)
    store_block(b, target, start, src, UD, size.bytes // 4, mask)


@opcode(
    0x7D,
    "{pred}dword_atomic.{operation} {exec} {surface} {offsets} {src0} {src1} {dst}",
    page="DWORD_ATOMIC",
    types=maps.ATOMIC_OFFSETS,
    limits=maps.UP_TO_SIXTEEN,
    front_end=FrontEnd(sizes=sizes(*SIZES), checks_atomics=True),
)
def dword_atomic(
    b: InstBuilder,
    operation: Operation,
    exec: Exec,
    pred: Pred,
    surface: Surface,
    offsets: RawSrc,
    src0: RawSrc,
    src1: RawSrc,
    dst: RawDst,
) -> None:
    """dst[i] = old value at byte offset offsets[i], replaced by op(old, src0[i], src1[i]).

    cmpxchg: new = old == src1 ? src0 : old, but fcmpwr: new = old == src0 ? src1 : old.  16-bit
    elements lie in the low halves of dwords.
    """
    target = surface_target(b, surface)
    lanes = target.offsets(b, b.row_read(offsets, 0, UD, b.width))
    ATOMICS[operation.name].run(b, target, lanes, operation.bits, dst, (src0, src1))
