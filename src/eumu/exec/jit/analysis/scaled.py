"""Scaled rows: numbers of a loop that are made of elements that it loads one after the other, and
of what stays the same.

``alpha * a[k]`` in a loop over k is one number in each turn, and takes the units that sums need.
Some turns of it are one vector.  The loop may not change memory, as elements of later turns are
loaded early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from eumu.exec.jit.analysis.affine_forms import LANE_WISE
from eumu.exec.jit.analysis.walks import Turn, is_quiet
from eumu.ir import Op, Value
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import Load
from eumu.ir.operations.state import Read
from eumu.records import dataclass
from eumu.types import F

_SAME: Final = -1  # no load: what stays the same
_MOST_DEEP: Final = 8  # operations from an element to the number


@dataclass(frozen=True, slots=True)
class Scaled:
    """A number that is wanted in each turn: the result of an operation at a place of a loop's first
    block.  `steps` are the operations that make it, in their order: each with what its arguments
    are, another one of them, the load at a place, or what stays the same."""

    place: int
    load: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation; for each argument the read or constant that gives it, or the number of the step
    that made it, or None for the element that was loaded."""

    op: Op
    arguments: tuple[Op | int | None, ...]


def find(turn: Turn, loads: Sequence[int]) -> Iterator[Scaled]:
    """The numbers of a turn of a loop that are made of what is loaded at these places of its first
    block, each an element further on in each turn."""
    if not all(is_quiet(op) for _, _, op in turn.ops):
        return
    search = _Search(turn, frozenset(loads))
    first = [n for n, (block, _, _) in enumerate(turn.ops) if block == turn.blocks[0]]
    made = {n: load for n in first if (load := search.load_of(n)) is not None}
    inner = {m for n in made for m in search.makers(n)}
    for n, load in made.items():
        if n not in inner:
            yield Scaled(turn.ops[n][1], turn.ops[load][1], tuple(search.steps(n)))


@dataclass(slots=True)
class _Search:
    """Operations are named by their number in the turn."""

    turn: Turn
    loads: frozenset[int]  # places in the first block
    found: dict[int, int | None] = field(default_factory=dict)  # what a number is made of
    depth: int = 0

    def load_of(self, n: int) -> int | None:
        """The load that an operation makes a number of, with what stays the same; None if none."""
        made = self._made_of(n)
        return None if made == _SAME else made

    def _made_of(self, n: int) -> int | None:
        """A load, `_SAME` for what stays the same, or None for anything else."""
        if n not in self.found:
            self.found[n] = None
            self.depth += 1
            if self.depth <= _MOST_DEEP:
                self.found[n] = self._of_arguments(self.turn.ops[n][2])
            self.depth -= 1
        return self.found[n]

    def _of_arguments(self, op: Op) -> int | None:
        if op.name not in LANE_WISE or len(op.results) != 1:
            return None
        if op.result.type is not F or any(a.type is not F for a in op.args):
            return None
        loads = set[int]()
        for source in map(self.source, op.args):
            made = None if source is None else self._argument(source)
            if made is None:
                return None
            loads.add(made)
        loads.discard(_SAME)
        return min(loads, default=_SAME) if len(loads) <= 1 else None

    def _argument(self, n: int) -> int | None:
        made = self._element(n)
        if made is None:
            made = _SAME if self._stays(n) else self._made_of(n)
        return made

    def source(self, value: Value) -> int | None:
        """The operation that gives a value, through registers that were written in this turn."""
        n = self.turn.makers[value.id]
        op = self.turn.ops[n][2]
        while isinstance(op, Read):
            seen = self.turn.seen(n, op)
            if seen is None:
                break
            if seen.type.size != F.size:
                return None
            n = self.turn.makers[seen.id]
            op = self.turn.ops[n][2]
        return n

    def _element(self, n: int) -> int | None:
        block, place, op = self.turn.ops[n]
        is_one = isinstance(op, Load) and block == self.turn.blocks[0] and place in self.loads
        return n if is_one else None

    def _stays(self, n: int) -> bool:
        """Whether it gives the same number to all lanes in all turns."""
        op = self.turn.ops[n][2]
        if isinstance(op, Const):
            return len(set(op.lanes)) == 1 and op.result.type is F
        return isinstance(op, Read) and len(set(op.offsets)) == 1 and self.turn.step(op.result) == 0

    def makers(self, n: int) -> Iterator[int]:
        """The operations among the arguments of one that makes such a number."""
        for argument in self.turn.ops[n][2].args:
            source = self.source(argument)
            if source is not None and self.load_of(source) is not None:
                yield source

    def steps(self, n: int) -> list[Step]:
        """What makes a number."""
        steps, numbers = list[Step](), dict[int, int]()

        def add(n: int) -> int:
            if n not in numbers:
                op, arguments = self.turn.ops[n][2], list[Op | int | None]()
                for value in op.args:
                    source = self.source(value)
                    assert source is not None
                    if self._element(source) is not None:
                        arguments.append(None)
                    elif self._stays(source):
                        arguments.append(self.turn.ops[source][2])
                    else:
                        arguments.append(add(source))
                numbers[n] = len(steps)
                steps.append(Step(op, tuple(arguments)))
            return numbers[n]

        add(n)
        return steps
