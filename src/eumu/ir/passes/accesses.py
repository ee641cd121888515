"""Reports of single operations: misaligned accesses, divisions of integers by zero.

Both look at one operation and its arguments, so a `report` in front of it is all there is to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from eumu.ir.builder import Builder
from eumu.ir.function import Block, Function, Op
from eumu.ir.operations.memory import UNWRITTEN_SPACES, WRITTEN_SPACES, Access, Space
from eumu.ir.operations.state import ExecMask

_SHADOWS = frozenset((*WRITTEN_SPACES.values(), *UNWRITTEN_SPACES.values()))
_MOST = 4  # the compiler itself loads 8 bytes where the language promises multiples of 4

# Called in front of an operation, with the first lane of its instruction; None of one that no
# execution mask reaches.
Look = Callable[[Builder, Op, int | None], None]


def find_misaligned(function: Function) -> Function:
    """A copy of `function` that reports accesses to elements that are not at multiples of what
    their message, or the program's language, demands (see `Function.demands`)."""

    def look(b: Builder, op: Op, first: int | None) -> None:
        if not isinstance(op, Access) or op.space in _SHADOWS:
            return
        size = function.demand(op.inst, min(_element(op), _MOST))
        if size <= 1:
            return
        address, mask = op.args[:2]
        rest = b.and_(address, b.const(address.type, size - 1, address.width))
        bad = b.and_(mask, b.cmp("ne", rest, b.const(address.type, 0, address.width)))
        verb = {"load_block": "load", "store_block": "store"}.get(op.name, op.name)
        what = f"{verb} of elements of {_element(op)} bytes, which must be at multiples of {size},"
        at = (address, *op.args[-1:]) if op.space is Space.SURFACE else (address,)
        b.report(what, bad, first or 0, code="misaligned", space=op.space, at=at)

    return _looking(function, look)


def find_zero_divisors(function: Function) -> Function:
    """A copy of `function` that reports divisions of integers by zero, in lanes that execute."""

    def look(b: Builder, op: Op, first: int | None) -> None:
        if op.name in ("div", "rem") and op.result.type.is_int:
            divisor = op.args[1]
            zero = b.cmp("eq", divisor, b.const(divisor.type, 0, divisor.width))
            if first is not None:
                zero = b.and_(zero, b.exec_mask(first, zero.width))
            b.report("division of integers by zero", zero, first or 0, code="division-by-zero")

    return _looking(function, look)


def _element(op: Access) -> int:
    """Bytes of an element of an access."""
    return (op.results or op.data)[0].type.size


def _looking(function: Function, look: Look) -> Function:
    used = [v.id for block in function.blocks for op in block.ops for v in op.results]
    copy = replace(function, blocks=[])
    b = Builder(copy, max(used, default=-1) + 1)
    for block in function.blocks:
        copy.blocks.append(_block(b, block, look))
    return copy


def _block(b: Builder, block: Block, look: Look) -> Block:
    b.block = out = Block(block.label)
    first = {op.inst: op.offset for op in block.ops if isinstance(op, ExecMask)}
    for op in block.ops:
        b.inst = op.inst
        look(b, op, first.get(op.inst))
        out.ops.append(op)
    out.end = block.end
    return out
