"""Which accesses of a block may be checked before it, and what makes their addresses.

An address is known before its block if nothing that it is made of comes from memory: it is made of
registers as they are when the block begins, by operations that neither fault nor change anything.
Registers that such operations write are followed on the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field

from eumu.exec.jit.analysis.affine_forms import LANE_WISE
from eumu.ir import Block, Op, Space, Value
from eumu.ir.operations.memory import Load, LoadBlock, Store, StoreBlock
from eumu.ir.operations.state import OnFlag, OnRegion, Read, ReadFlag, Write, WriteFlag
from eumu.records import dataclass

_PURE = LANE_WISE | {
    *("const", "splat", "shuffle", "concat", "bitcast", "exec_mask", "bits_mask", "mask_bits")
}
ACCESSES = (Load, Store, LoadBlock, StoreBlock)
Mergeable = Load | Store | LoadBlock | StoreBlock


@dataclass(frozen=True, slots=True)
class Early:
    """Places of a block: accesses that may be checked before it, what makes their addresses."""

    accesses: tuple[int, ...]
    makers: frozenset[int]


@dataclass(slots=True)
class _Scan:
    """What is found on the way through a block."""

    memory: Collection[str]  # roots that are accessed through addresses
    made: dict[int, int] = field(default_factory=dict)  # values that are known early: by whom
    writes: dict[str, list[tuple[int, Op, bool]]] = field(default_factory=dict)  # of roots
    needs: dict[int, list[int]] = field(default_factory=dict)  # writes that a read sees

    def is_early(self, place: int, op: Op) -> bool:
        """Whether an operation may run before the block."""
        early = all(a.id in self.made for a in op.args)
        if isinstance(op, (Read, ReadFlag)):
            return early and self._reads(place, op)
        if isinstance(op, (Write, WriteFlag)):
            early = early and op.root.name not in self.memory
            self.writes.setdefault(op.root.name, []).append((place, op, early))
            return early
        return early and op.name in _PURE

    def _reads(self, place: int, op: Read | ReadFlag) -> bool:
        seen = [(w, early) for w, x, early in self.writes.get(op.root.name, ()) if _meet(x, op)]
        self.needs[place] = [w for w, _ in seen]
        return op.root.name not in self.memory and all(early for _, early in seen)


def find(block: Block, memory: Collection[str], wanted: Sequence[Op]) -> Early:
    """The accesses of a block, of those that are `wanted`, that may be checked before it; `memory`
    are roots that addresses lead to."""
    scan, accesses, chosen = _Scan(memory), list[int](), {id(op) for op in wanted}
    for place, op in enumerate(block.ops):
        if id(op) in chosen and all(a.id in scan.made for a in _where(op)):
            accesses.append(place)
        elif scan.is_early(place, op):
            scan.made.update((value.id, place) for value in op.results)
    makers: set[int] = set()
    work = [scan.made[a.id] for place in accesses for a in _where(block.ops[place])]
    while work:
        place = work.pop()
        if place not in makers:
            makers.add(place)
            work += [scan.made[a.id] for a in block.ops[place].args]
            work += scan.needs.get(place, ())
    return Early(tuple(accesses), frozenset(makers))


def _where(op: Op) -> Iterator[Value]:
    """Address, mask, and surface of an access."""
    assert isinstance(op, ACCESSES)
    yield from op.args[:2]
    if op.space is Space.SURFACE:
        yield op.args[-1]


def _meet(write: Op, read: Op) -> bool:
    """Whether a write may change what a read of the same root sees."""
    if isinstance(write, OnFlag) or isinstance(read, OnFlag):
        return True
    assert isinstance(write, OnRegion) and isinstance(read, OnRegion)
    return min(write.offsets) < read.end and min(read.offsets) < write.end
