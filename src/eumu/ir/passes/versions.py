"""Blocks in several versions, one for each constant that %cr0 may be: which one runs is chosen when
lanes come to the block, so the versions stand behind the place where they wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from eumu.ir.function import Block, Function, Op, Region, Value
from eumu.ir.operations.arithmetic import Compare
from eumu.ir.operations.ends import Switch
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import Read
from eumu.ir.passes.cr0 import NAME
from eumu.types import BOOL, UD


def joined(
    function: Function, versions: Sequence[Mapping[int | None, Block]], fresh: Iterator[int]
) -> list[Block]:
    """All blocks, by the versions of each; `fresh` are numbers of values that nobody uses."""
    sizes = [1 if len(made) == 1 else 1 + len(made) for made in versions]
    starts = [0, *accumulate(sizes)]
    blocks: list[Block] = []
    for made in versions:
        if len(made) > 1:
            blocks.append(_choice(function, [*made], len(blocks), fresh))
            blocks[-1].label = next(iter(made.values())).label
        for n, block in enumerate(made.values()):
            end = block.end
            if end is not None:
                end = replace(end, targets=tuple(starts[target] for target in end.targets))
            moved = Block(block.label, block.ops, end)
            blocks.append(_renumbered(moved, f"{block.label}.{n}", fresh) if n else moved)
    return blocks


def _choice(
    function: Function, constants: list[int | None], place: int, fresh: Iterator[int]
) -> Block:
    """A block that goes to the one behind it that is for the constant that %cr0 is."""
    ops: list[Op] = []

    def made(op: Op) -> Value:
        ops.append(op)
        return op.results[0]

    def number(value: int) -> Value:
        return made(Const("const", (), (Value(next(fresh), UD, 1),), lanes=(value,)))

    held = Value(next(fresh), UD, 1)
    made(Read("read", (), (held,), root=function.roots[NAME], region=Region.scalar(0)))
    chosen = number(len(constants) - 1)
    for n, constant in enumerate(constants[:-1]):
        assert constant is not None
        is_it = Value(next(fresh), BOOL, 1)
        made(Compare("cmp", (held, number(constant)), (is_it,), rel="eq"))
        args = is_it, number(n), chosen
        chosen = made(Op("select", args, (Value(next(fresh), UD, 1),)))
    targets = tuple(range(place + 1, place + 1 + len(constants)))
    return Block("", ops, Switch((chosen,), targets))


def _renumbered(block: Block, label: str, fresh: Iterator[int]) -> Block:
    """The same with other numbers of values: a value has one place in a function."""
    others: dict[int, Value] = {}

    def of(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(others.get(value.id, value) for value in values)

    ops: list[Op] = []
    for op in block.ops:
        args = of(op.args)
        for value in op.results:
            others[value.id] = Value(next(fresh), value.type, value.width)
        ops.append(replace(op, args=args, results=of(op.results)))
    end = block.end
    return Block(label, ops, end and replace(end, args=of(end.args)))
