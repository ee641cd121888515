"""Turns blocks into lists of steps: Python closures over prepared views of the state."""

from __future__ import annotations

from typing import Final

import numpy as np

from eumu.errors import Unsupported
from eumu.exec.interp import accesses, atomics, lanes, messages, registers, reports, sends
from eumu.exec.interp.label_steps import follow
from eumu.exec.interp.memory import ACCESSES, AddressSpaces
from eumu.exec.interp.site import STEPS, BlockSite
from eumu.exec.interp.special import SPECIAL
from eumu.exec.interp.values import Compiled, Run, Slots, Step
from eumu.ir import Block, Op
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import Access, Fence, Follow
from eumu.ir.operations.messages import Send
from eumu.ir.operations.state import Special, Symbol

# The files that make the other steps, which add themselves to the tables.
MAKERS: Final = (accesses, atomics, messages, registers, reports, sends)


def compile_block(block: Block, site: BlockSite, memory: AddressSpaces) -> Compiled:
    """The steps of a block, in order."""
    assert block.end is not None
    count = site.enter(block)
    steps = [make_step(op, site, memory) for op in block.ops]
    if site.labels is not None:
        steps = follow(site.labels, site, block, steps)
    instructions = {op.inst for op in block.ops} | {block.end.inst}
    return Compiled(steps, count, len(instructions - {-1}) or 1, site.slots(block.end.args))


def make_step(op: Op, site: BlockSite, space: AddressSpaces) -> Step:
    """The step of one operation."""
    if lanes.is_lanewise(op.name):
        return _lanewise(lanes.compute(op), site.slots(op.args), site.slot(op.results[0]))
    if isinstance(op, Access):
        return ACCESSES[op.name](space, op)
    return STEPS[op.name](site, op)


def _lanewise(compute: lanes.Compute, arguments: list[int], r: int) -> Step:
    if len(arguments) == 1:
        (a,) = arguments

        def one(v: Slots, run: Run) -> None:
            v[r] = compute(v[a])

        return one
    if len(arguments) == 2:
        a, b = arguments

        def two(v: Slots, run: Run) -> None:
            v[r] = compute(v[a], v[b])

        return two

    def several(v: Slots, run: Run) -> None:
        v[r] = compute(*[v[k] for k in arguments])

    return several


@STEPS.on(Const)
def _constant(site: BlockSite, op: Const) -> Step:
    r, value = site.slot(op.results[0]), lanes.constant(op)

    def step(v: Slots, run: Run) -> None:
        v[r] = value

    return step


@STEPS.on(Symbol)
def _symbol(site: BlockSite, op: Symbol) -> Step:
    name = op.symbol
    if name not in site.grid.symbols:
        raise Unsupported(f"the address of symbol {name!r}", span=site.span(op.inst))
    r, value = site.slot(op.results[0]), np.array([[site.grid.symbols[name]]], np.uint64)

    def step(v: Slots, run: Run) -> None:
        v[r] = value

    return step


@STEPS.on(Special)
def _special(site: BlockSite, op: Special) -> Step:
    name, value = op.fact, op.results[0]
    if name not in SPECIAL:
        raise Unsupported(f"the run-time fact {name!r}", span=site.span(op.inst))
    r, fact = site.slot(value), SPECIAL[name]

    def step(v: Slots, run: Run) -> None:
        v[r] = fact(site, run).astype(value.type.dtype)

    return step


@STEPS.on(Send)
def _send(site: BlockSite, op: Send) -> Step:
    return sends.send(op, site, compile_block)


@STEPS.on(Fence)
def _fence(site: BlockSite, op: Fence) -> Step:
    def step(v: Slots, run: Run) -> None:
        """Every access is already in order."""

    return step


@STEPS.on(Follow)
def _follow(site: BlockSite, op: Follow) -> Step:
    def step(v: Slots, run: Run) -> None:
        """Every access is noted where it is done."""

    return step
