"""Shared virtual memory: blocks, gathers, scatters and atomics at 64-bit addresses."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, RawDst, RawSrc, Rows, Scalar
from eumu.isa.kinds.raw import (
    AtomicKind,
    AtomicOperation,
    BlockSize,
    BlockSizeKind,
    ChannelsKind,
    CountKind,
)
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.memory import (
    DWORD,
    FLAT,
    QWORD,
    load_block,
    load_channels,
    store_block,
    store_channels,
)
from eumu.isa.visa.registry import opcode
from eumu.isa.visa.surface import ATOMICS
from eumu.types import BOOL, UB, UD, UQ

BlockBytes = Annotated[int, CountKind("the size of a block", 1, 4, 8)]
Blocks = Annotated[int, CountKind("the number of blocks", 1, 2, 4, 8)]
Owords = Annotated[BlockSize, BlockSizeKind()]
Channels = Annotated[tuple[int, ...], ChannelsKind()]
Operation = Annotated[AtomicOperation, AtomicKind(16, 32, 64)]


scaled = partial(
    opcode,
    0x4E,
    types=maps.ADDRESS_OFFSETS,
    limits=maps.EIGHT_OR_SIXTEEN,
    front_end=maps.OF_ANY_SIZE,
)
addressed = partial(opcode, 0x4E, types=maps.ADDRESSES, front_end=maps.OF_ANY_SIZE)


def _addresses(b: InstBuilder, rows: Rows) -> Value:
    return b.row_read(rows, 0, UQ, b.width)


@opcode(0x4E, "svm_block_ld{size.unaligned} {size} {address} {dst}", sub=1, page="SVM_BLOCK_LD")
def svm_block_ld(b: InstBuilder, size: Owords, address: Scalar, dst: RawDst) -> None:
    """`size` owords from one address; the execution mask plays no part."""
    start, mask = b.convert(address, UQ), b.const(BOOL, 1)
    b.aligned(4 if size.unaligned else 16)
    load_block(b, FLAT, start, dst, UD, size.bytes // 4, mask)


@opcode(0x4E, "svm_block_st{size.unaligned} {size} {address} {src}", sub=2, page="SVM_BLOCK_ST")
def svm_block_st(b: InstBuilder, size: Owords, address: Scalar, src: RawSrc) -> None:
    """Write `size` owords to one address; the execution mask plays no part."""
    start, mask = b.convert(address, UQ), b.const(BOOL, 1)
    b.aligned(4 if size.unaligned else 16)
    store_block(b, FLAT, start, src, UD, size.bytes // 4, mask)


@addressed(
    "{pred}svm_gather.{size}.{count} {exec} {addresses} {dst}",
    sub=3,
    page="SVM_GATHER",
    limits=maps.UP_TO_SIXTEEN,
)
def svm_gather(
    b: InstBuilder, size: BlockBytes, count: Blocks, addresses: RawSrc, dst: RawDst
) -> None:
    """`count` blocks of `size` bytes from each lane's address.

    Blocks of 4 and 8 bytes: block j of all lanes, then block j+1.  Blocks of one byte: the bytes
    of a lane lie together in a slot of 4 bytes (8 for 8 blocks).
    """
    start = _addresses(b, addresses)
    b.aligned(min(size, 4))
    if size > 1:
        load_channels(b, FLAT, start, dst, DWORD if size == 4 else QWORD, range(count))
        return
    slot = max(4, count)
    loaded = b.load(FLAT.space, start, b.mask, UB, count)
    for k, value in enumerate(loaded):
        b.row_write(dst, k, value, b.mask, slot)


@addressed(
    "{pred}svm_scatter.{size}.{count} {exec} {addresses} {src}",
    sub=4,
    page="SVM_SCATTER",
    limits=maps.UP_TO_SIXTEEN,
)
def svm_scatter(
    b: InstBuilder, size: BlockBytes, count: Blocks, addresses: RawSrc, src: RawSrc
) -> None:
    """Write `count` blocks of `size` bytes to each lane's address; layout as in `svm_gather`."""
    start = _addresses(b, addresses)
    b.aligned(min(size, 4))
    if size > 1:
        store_channels(b, FLAT, start, src, DWORD if size == 4 else QWORD, range(count))
        return
    slot = max(4, count)
    data = [b.row_read(src, k, UB, b.width, slot) for k in range(count)]
    b.store(FLAT.space, start, b.mask, data)


@addressed(
    "{pred}svm_atomic.{operation} {exec} {addresses} {dst} {src0} {src1}",
    sub=5,
    page="SVM_ATOMIC",
    limits=maps.UP_TO_EIGHT,
)
def svm_atomic(
    b: InstBuilder, operation: Operation, addresses: RawSrc, src0: RawSrc, src1: RawSrc, dst: RawDst
) -> None:
    """dst[i] = old value at each lane's address, replaced by op(old, src0[i], src1[i]).

    The operations are those of `dword_atomic`, on 16, 32 or 64 bits.
    """
    start = _addresses(b, addresses)
    ATOMICS[operation.name].run(b, FLAT, start, operation.bits, dst, (src0, src1))


def _scattered(b: InstBuilder, address: Value, offsets: Rows) -> Value:
    base = b.splat(b.convert(address, UQ), b.width)
    return b.add(base, _addresses(b, offsets))


@scaled(
    "{pred}svm_gather4scaled.{channels} {exec} {address} {offsets} {dst}",
    sub=6,
    page="SVM_GATHER4_SCALED",
    layout="sub exec pred channels 0000 address offsets dst",
)
def svm_gather4scaled(
    b: InstBuilder, channels: Channels, address: Scalar, offsets: RawSrc, dst: RawDst
) -> None:
    """Dword c of each lane at address + offsets[i], for each channel c, to the next registers."""
    b.aligned(4)
    load_channels(b, FLAT, _scattered(b, address, offsets), dst, DWORD, channels)


@scaled(
    "{pred}svm_scatter4scaled.{channels} {exec} {address} {offsets} {src}",
    sub=7,
    page="SVM_SCATTER4_SCALED",
    layout="sub exec pred channels 0000 address offsets src",
)
def svm_scatter4scaled(
    b: InstBuilder, channels: Channels, address: Scalar, offsets: RawSrc, src: RawSrc
) -> None:
    """Write the channels' dwords of each lane to address + offsets[i]."""
    b.aligned(4)
    store_channels(b, FLAT, _scattered(b, address, offsets), src, DWORD, channels)
