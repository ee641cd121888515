"""Roots, masks and constants: the operations that only name, pack or move lanes."""

from __future__ import annotations

from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering, constant_lanes
from eumu.exec.jit.llvm.emit import vector_literal
from eumu.exec.jit.llvm.lanes import AffineForm, Lanes, Shape
from eumu.exec.jit.llvm.layout import Context
from eumu.ir import Op
from eumu.ir.operations.arithmetic import InDword
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import Fence
from eumu.ir.operations.state import ExecMask, Partner, ReadFlag, RootAddress, Symbol, WriteFlag
from eumu.types import BOOL


@LOWERINGS.on(Const)
def _const(k: KernelLowering, op: Const) -> None:
    constant_lanes(k, op.result, op.lanes)


@LOWERINGS.on(ExecMask)
def _exec_mask(k: KernelLowering, op: ExecMask) -> None:
    value, offset = op.result, op.offset
    e, word = k.e, f"i{k.width}"
    if k.known[value.id].full and offset + value.width <= k.width:
        vector = vector_literal("i1", ["true"] * value.width)
        k.values[value.id] = Lanes(BOOL, value.width, vector)
        return
    mask = k.executing.get((offset, value.width))
    if mask is None:
        bits = e.op(f"load {word}, ptr {k.em}")
        if offset:
            bits = e.op(f"lshr {word} {bits}, {offset}") if offset < k.width else "0"
        mask = regs.mask_of_bits(e, bits, k.width, value.width)
    lanes = Lanes(BOOL, value.width, mask)
    if value.width == 1:
        lanes.affine = AffineForm(Shape(1, (0,)), (mask,))
    k.values[value.id] = lanes


@LOWERINGS.on(ReadFlag)
def _read_flag(k: KernelLowering, op: ReadFlag) -> None:
    root, value = op.root, op.result
    k.plain(value, regs.load_flag(k.e, k.registers, root, op.offset, value.width))


@LOWERINGS.on(WriteFlag)
def _write_flag(k: KernelLowering, op: WriteFlag) -> None:
    (x, m), root = op.args, op.root
    regs.store_flag(k.e, k.registers, root, op.offset, x.width, k.vector(x), k.write_mask(m))


@LOWERINGS.on(RootAddress)
def _root_address(k: KernelLowering, op: RootAddress) -> None:
    k.plain(op.result, str(op.root.address + op.offset))


@LOWERINGS.on(Partner)
def _partner(k: KernelLowering, op: Partner) -> None:
    """Bytes in the record of the other thread of the pair."""
    e, value, root = k.e, op.result, op.root
    other = e.op(f"xor i64 {k.context_load(Context.THREAD)}, 1")
    distance = e.op(f"mul i64 {other}, {k.context_load(Context.RECORD_SIZE)}")
    record = e.op(f"add i64 {k.context_load(Context.RECORDS)}, {distance}")
    record = e.op(f"inttoptr i64 {record} to ptr")
    k.plain(value, regs.load_bytes(e, k.registers, root, op.offsets, value.type, record))


@LOWERINGS.on(Symbol)
def _symbol(k: KernelLowering, op: Symbol) -> None:
    index = k.function.symbols.index(op.symbol)
    table = k.e.op(f"inttoptr i64 {k.context_load(Context.SYMBOLS)} to ptr")
    place = k.e.op(f"getelementptr i64, ptr {table}, i64 {index}")
    k.plain(op.result, k.e.op(f"load i64, ptr {place}"))


@LOWERINGS.on(Op, "any", "all")
def _any_all(k: KernelLowering, op: Op) -> None:
    (m,) = op.args
    word = f"i{m.width}"
    bits = regs.bits_of_mask(k.e, k.vector(m), m.width, m.width)
    test = "ne" if op.name == "any" else "eq"
    reference = "0" if op.name == "any" else "-1"
    k.plain(op.result, k.e.op(f"icmp {test} {word} {bits}, {reference}"))


@LOWERINGS.on(InDword, "mask_bits")
def _mask_bits(k: KernelLowering, op: InDword) -> None:
    (m,) = op.args
    k.plain(op.result, regs.bits_of_mask(k.e, k.vector(m), m.width, 32))


@LOWERINGS.on(InDword, "bits_mask")
def _bits_mask(k: KernelLowering, op: InDword) -> None:
    k.plain(op.result, regs.mask_of_bits(k.e, k.vector(op.args[0]), 32, op.result.width))


@LOWERINGS.on(Fence)
def _fence(k: KernelLowering, op: Fence) -> None:
    k.e.do("fence acq_rel")
