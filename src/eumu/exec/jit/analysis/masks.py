"""What is known of masks: constants, also in flags, and whether they have every executing lane."""

from __future__ import annotations

from collections.abc import Sequence

from eumu.exec.jit.analysis.slots import SCALAR, BlockState, KnownValue, Slot
from eumu.exec.jit.llvm.lanes import Shape, merged
from eumu.ir import Op
from eumu.ir.operations.state import OnFlag, WriteFlag


def packed(bits: Sequence[int]) -> int:
    """A mask's lanes as an integer."""
    return sum(1 << lane for lane, bit in enumerate(bits) if bit)


def _flag_slot(op: OnFlag) -> Slot:
    return Slot(op.root.name, op.bits, 1)


def write_flag(op: WriteFlag, args: Sequence[KnownValue], state: BlockState) -> None:
    slot = _flag_slot(op)
    state.kill(slot)
    bits = args[0].bits
    if bits is not None and args[1].full:
        state[slot] = Shape(1, (0,) * len(bits), constant=packed(bits))


def constant_mask(op: Op, args: Sequence[KnownValue], state: BlockState) -> KnownValue:
    """A mask made of a constant, or read from a flag that holds one."""
    width = op.result.width
    mask: int | None = None
    if not isinstance(op, OnFlag):
        mask = args[0].bits[0] if args[0].bits is not None else None
    else:
        wanted = _flag_slot(op)
        for slot, shape in state.of(wanted.root).items():
            start = wanted.offsets[0] - slot.offsets[0]
            if 0 <= start <= len(slot.offsets) - width and shape.constant is not None:
                mask = shape.constant >> start
    if mask is None:
        return KnownValue(SCALAR if width == 1 else None)
    bits = tuple(mask >> lane & 1 for lane in range(width))
    return KnownValue(SCALAR if width == 1 else None, bits, all(bits), possible=packed(bits))


def mask(op: Op, args: Sequence[KnownValue]) -> KnownValue:
    width = op.result.width
    full = all(a.full for a in args)
    executing = any(a.executing for a in args) if op.name == "and" else False
    whole = op.name in ("and", "or") and all(a.whole or a.full for a in args)
    uniform = op.name == "splat" or (
        op.name in ("and", "or")
        and all(a.shape and a.shape.groups == 1 and a.shape.uniform for a in args)
    )
    shape = SCALAR if width == 1 else None
    if uniform and width > 1:
        shapes = [a.shape for a in args if a.shape]
        shape = merged(shapes, (0,) * width, None)
    possible = None
    if op.name == "and":
        for a in args:
            if a.possible is not None:
                possible = a.possible if possible is None else possible & a.possible
        if possible is not None and all(a.full or a.bits is not None for a in args):
            bits = tuple(possible >> lane & 1 for lane in range(width))
            return KnownValue(shape, bits, full, executing, whole, possible)
    return KnownValue(shape, full=full, executing=executing, whole=whole, possible=possible)
