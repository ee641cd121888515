"""Turns: loads at the head of a loop whose addresses move on in the same way from turn to turn.

What `walks` finds moves on by a constant.  Here the step may also be a number that is known when
the loop runs, as the length of a row is.  Whether anything is stored in the loop does not matter:
this is about addresses.  It is for threads all of whose lanes execute, or of those that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from eumu.exec.jit.analysis import scaled
from eumu.exec.jit.analysis.scaled import Scaled
from eumu.exec.jit.analysis.slots import Facts
from eumu.exec.jit.analysis.walks import Turn, loops
from eumu.exec.jit.llvm.emit import signed
from eumu.ir import Function, Op, Space, Value
from eumu.ir.operations.arithmetic import Convert
from eumu.ir.operations.memory import Load
from eumu.ir.operations.state import Read
from eumu.records import dataclass
from eumu.types import F

_ENDS: Final = ("jump", "branch", "diverge", "barrier")
_MOST_OPERATIONS: Final = 2000  # of a loop
_MOST_DEEP: Final = 100  # operations from a register to an address


@dataclass(frozen=True, slots=True)
class Step:
    """By how much a value grows in a turn: a number, times a value that stays the same if there is
    one.  It is meant modulo the type of what grows."""

    number: int
    factor: Value | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A load at a place of a loop's first block whose addresses grow by a step.

    That holds as long as the `guards` do not leave their types, each with its own step: they are
    widened on the way.
    """

    place: int
    load: Load
    step: Step
    guards: tuple[tuple[Value, Step], ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """Blocks that all run in each turn, in this order, the loads of the first one, and what numbers
    it makes of some."""

    blocks: tuple[int, ...]
    lines: tuple[Line, ...]
    scaled: tuple[Scaled, ...] = ()


def find(function: Function, facts: Facts, *, partial: bool = False) -> list[Loop]:
    """The loops that have such loads; in `partial` ones lanes may have left, and threads do not
    meet."""
    found = []
    for blocks in loops(function, facts.flow, _ENDS[:3] if partial else _ENDS):
        turn = Turn(function, facts, blocks)
        if (turn.is_full or partial) and len(turn.ops) <= _MOST_OPERATIONS:
            lines = tuple(_lines(function, turn, blocks))
            if lines and partial:
                found.append(Loop(tuple(blocks), lines))
            elif lines:
                walks = [x.place for x in lines if x.step == Step(x.load.type.size) and _is_f(x)]
                found.append(Loop(tuple(blocks), lines, tuple(scaled.find(turn, walks))))
    return found


def _is_f(line: Line) -> bool:
    return line.load.count == 1 and line.load.type.size == F.size


def _lines(function: Function, turn: Turn, blocks: Sequence[int]) -> Iterator[Line]:
    for place, op in enumerate(function.blocks[blocks[0]].ops):
        if isinstance(op, Load) and op.space is Space.FLAT and turn.keeps_lanes(op):
            turn.guards, turn.steps = [], {}
            ways = _Ways(turn)
            step = ways.step(op.args[0])
            if step is not None:
                known = [(guard.value, Step(guard.step)) for _, guard in turn.guards]
                yield Line(place, op, step, (*known, *ways.guards))


@dataclass(slots=True)
class _Ways:
    """Steps of values in a turn, products with what stays the same included."""

    turn: Turn
    guards: list[tuple[Value, Step]] = field(default_factory=list)
    steps: dict[int, Step | None] = field(default_factory=dict)

    def step(self, value: Value, depth: int = 0) -> Step | None:
        """By how much all lanes of a value change in a turn, None if that is not known."""
        if value.id not in self.steps:
            number = self.turn.step(value)
            if number is not None:
                self.steps[value.id] = Step(number)
            else:
                self.steps[value.id] = None if depth > _MOST_DEEP else self._made(value, depth + 1)
        return self.steps[value.id]

    def _made(self, value: Value, depth: int) -> Step | None:
        place = self.turn.makers[value.id]
        op = self.turn.ops[place][2]
        if isinstance(op, Read):
            source = self.turn.seen(place, op)
            same = source is not None and source.type.size == value.type.size
            return self.step(source, depth) if same and source is not None else None
        if not value.type.is_int or op.name not in _FOLLOWED:
            return None
        steps = [self.step(a, depth) for a in op.args]
        present = [s for s in steps if s is not None]
        if len(present) < len(steps):
            return None
        if op.name in ("splat", "shuffle", "concat"):
            stays = self.turn.is_full or op.name == "splat" or not any(s.number for s in present)
            return present[0] if stays and len(set(present)) == 1 else None
        return self._computed(op, present)

    def _computed(self, op: Op, steps: Sequence[Step]) -> Step | None:
        bits = op.results[0].type.bits
        step: Step | None = None
        if op.name in ("add", "sub") and len(steps) == 2:
            step = _sum(steps[0], steps[1], 1 if op.name == "add" else -1)
        elif op.name == "shl" and not steps[1].number:
            count = self.turn.constant(op.args[1])
            step = None if count is None else _times(steps[0], 1 << (count % bits), bits)
        elif op.name == "mul":
            step = self._product(op, steps)
        elif isinstance(op, Convert) and not op.saturate and op.args[0].type.is_int:
            step = steps[0]
            if bits > op.args[0].type.bits:
                self.guards.append((op.args[0], step))
        return step

    def _product(self, op: Op, steps: Sequence[Step]) -> Step | None:
        bits = op.results[0].type.bits
        if any(a.type.bits != bits for a in op.args):
            return None
        for n in (0, 1):
            constant = self.turn.constant(op.args[1 - n])
            if constant is not None:
                return _times(steps[n], constant, bits)
            if not steps[1 - n].number and steps[n].factor is None:
                return Step(steps[n].number, op.args[1 - n])
        return None


_FOLLOWED: Final = ("splat", "shuffle", "concat", "add", "sub", "shl", "mul", "convert")


def _sum(a: Step, b: Step, sign: int) -> Step | None:
    """What two values grow by together; of no more than one factor."""
    factors = {s.factor.id: s.factor for s in (a, b) if s.number and s.factor is not None}
    plain = [s for s in (a, b) if s.number and s.factor is None]
    if len(factors) > 1 or (factors and plain):
        return None
    return Step(a.number + sign * b.number, next(iter(factors.values()), None))


def _times(step: Step, factor: int, bits: int) -> Step:
    return Step(signed(step.number * factor, bits), step.factor)
