"""Turns blocks into lists of steps: Python closures over prepared views of the state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eumu.errors import Unsupported
from eumu.exec.interp import accesses, atomics, lanes, registers
from eumu.exec.interp.memory import Memory
from eumu.exec.interp.messages import message
from eumu.exec.interp.reports import report
from eumu.exec.interp.sends import require, send
from eumu.exec.interp.site import Site
from eumu.exec.interp.special import SPECIAL
from eumu.exec.interp.values import Compiled, Run, Slots, Step
from eumu.ir import Block, Op


def compile_block(block: Block, site: Site, memory: Memory) -> Compiled:
    """The steps of a block, in order."""
    assert block.end is not None
    count = site.enter(block)
    steps = [make_step(op, site, memory) for op in block.ops]
    instructions = {op.inst for op in block.ops} | {block.end.inst}
    return Compiled(steps, count, len(instructions - {-1}) or 1, site.slots(block.end.args))


def make_step(op: Op, site: Site, space: Memory) -> Step:
    """The step of one operation."""
    if lanes.is_lanewise(op.name):
        return _lanewise(lanes.compute(op), site.slots(op.args), site.slot(op.results[0]))
    if op.name in registers.MAKERS:
        step: Step = registers.MAKERS[op.name](op, site)
        return step
    if op.name == "send":
        return send(op, site, compile_block)
    if op.name in _MEMORY:
        return _MEMORY[op.name](op, site, space)
    return _OTHERS[op.name](op, site)


_MEMORY: dict[str, Callable[[Op, Site, Memory], Step]] = {
    **accesses.MAKERS,
    "atomic": atomics.atomic,
}


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


def _constant(op: Op, site: Site) -> Step:
    r, value = site.slot(op.results[0]), lanes.constant(op)

    def step(v: Slots, run: Run) -> None:
        v[r] = value

    return step


def _symbol(op: Op, site: Site) -> Step:
    name = op.attrs["name"]
    if name not in site.grid.symbols:
        raise Unsupported(f"the address of symbol {name!r}", span=site.span(op.inst))
    r, value = site.slot(op.results[0]), np.array([[site.grid.symbols[name]]], np.uint64)

    def step(v: Slots, run: Run) -> None:
        v[r] = value

    return step


def _special(op: Op, site: Site) -> Step:
    name, value = op.attrs["name"], op.results[0]
    if name not in SPECIAL:
        raise Unsupported(f"the run-time fact {name!r}", span=site.span(op.inst))
    r, fact = site.slot(value), SPECIAL[name]

    def step(v: Slots, run: Run) -> None:
        v[r] = fact(site, run).astype(value.type.dtype)

    return step


def _fence(op: Op, site: Site) -> Step:
    def step(v: Slots, run: Run) -> None:
        """Every access is already in order."""

    return step


_OTHERS: dict[str, Callable[[Op, Site], Step]] = {
    "const": _constant,
    "symbol": _symbol,
    "special": _special,
    "fence": _fence,
    "message": message,
    "report": report,
    "require": require,
}
