"""Walks: loads in loops whose lanes all move on by the same constant number of bytes in each turn.

A loop is looked at if all of its blocks run in each turn, in one order, and nothing in it changes
memory that it loads.  How much a value changes from turn to turn is its *step*, modulo its type.
Lanes may leave a loop and do not come back; what is said holds of those that execute, as registers
of others stay.  So lanes keep to their places on the way to an address, unless all execute.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from eumu.exec.jit.analysis.affine_forms import LANE_WISE
from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.analysis.slots import Facts
from eumu.exec.jit.llvm.emit import signed
from eumu.ir import Function, Op, Space, Value
from eumu.ir.operations.arithmetic import Convert
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import Access, Load
from eumu.ir.operations.row import OPERATIONS
from eumu.ir.operations.state import ExecMask, Read, Write, WriteIndirect
from eumu.records import dataclass
from eumu.types import BOOL

_MOST_OPERATIONS: Final = 2000  # of a loop
_MOST_DEEP: Final = 100  # operations from a register to an address
_LOCAL: Final = (Space.SLM, Space.SCRATCH)
_ENDS: Final = ("jump", "branch", "diverge")


@dataclass(frozen=True, slots=True)
class Guard:
    """A value that must not leave its type in so many steps: it is widened on the way."""

    value: Value
    step: int


@dataclass(frozen=True, slots=True)
class Walk:
    """A load whose addresses grow by `step` bytes in each turn of the loop that starts at `header`;
    the way back there is from block `latch`."""

    header: int
    latch: int
    block: int
    place: int
    load: Load
    step: int
    guards: tuple[Guard, ...]


def find(function: Function, facts: Facts) -> list[Walk]:
    """The walks of all loops."""
    return [
        walk
        for blocks in loops(function, facts.flow)
        if all(is_quiet(op) for b in blocks for op in function.blocks[b].ops)
        for walk in Turn(function, facts, blocks).walks()
    ]


def loops(function: Function, flow: Flow, ends: Collection[str] = _ENDS) -> Iterator[list[int]]:
    """The loops whose blocks all run in each turn, in their order; how these blocks may end."""
    before: dict[int, set[int]] = {}
    for block, targets in flow.edges.items():
        for target in targets:
            before.setdefault(target, set()).add(block)
    for latch, targets in flow.edges.items():
        for header in targets:
            if header <= latch:
                inside = _inside(header, latch, before)
                blocks = _in_order(header, latch, inside, flow)
                last = max(inside)
                if blocks and all(_goes_on(function, flow, b, last, ends) for b in blocks):
                    yield blocks


def _inside(header: int, latch: int, before: dict[int, set[int]]) -> set[int]:
    """The blocks from which one gets to the end of a loop without its beginning."""
    inside, work = {header}, [latch]
    while work:
        block = work.pop()
        if block not in inside:
            inside.add(block)
            work += before.get(block, ())
    return inside


def _in_order(header: int, latch: int, inside: set[int], flow: Flow) -> list[int]:
    """Its blocks, if each leads to one other; nothing if some may be left out."""
    blocks, block = [header], header
    while block != latch:
        following = [t for t in flow.after(block) if t in inside]
        if len(following) != 1 or following[0] in blocks:
            return []
        block = following[0]
        blocks.append(block)
    again = [t for t in flow.after(latch) if t in inside]
    return blocks if again == [header] and len(blocks) == len(inside) else []


def _goes_on(function: Function, flow: Flow, block: int, last: int, ends: Collection[str]) -> bool:
    """Whether no lanes come to a block of a loop, which ends with block `last`, in later turns."""
    end = function.blocks[block].end
    if end is None or end.name not in ends or block in flow.waiting:
        return False
    parked = flow.parked.get(block)  # of an unreachable block there is none
    return parked is not None and not any(k <= last for k in parked)


def is_quiet(op: Op) -> bool:
    """Whether an operation changes nothing that others may load from memory of the device."""
    if isinstance(op, Access):
        return op.name in ("load", "load_block") or op.space in _LOCAL
    return not OPERATIONS[op.name].effect


class Turn:
    """One turn of a loop: its operations in the order in which they run."""

    def __init__(self, function: Function, facts: Facts, blocks: Sequence[int]) -> None:
        self.width, self.blocks = function.width, blocks
        self.is_full = facts.full_threads and all(facts.flow.full(b) for b in blocks)
        self.first = 0  # the lane of the thread that is the first of the load
        self.ops = [(b, n, op) for b in blocks for n, op in enumerate(function.blocks[b].ops)]
        self.makers = {v.id: k for k, (_, _, op) in enumerate(self.ops) for v in op.results}
        self.writes: dict[str, list[int]] = {}
        for k, (_, _, op) in enumerate(self.ops):
            if isinstance(op, Write):
                self.writes.setdefault(op.root.name, []).append(k)
        is_indirect = any(isinstance(op, WriteIndirect) for _, _, op in self.ops)
        self.blocked = facts.blocked if is_indirect else frozenset()
        self.guards: list[tuple[int, Guard]] = []
        self.steps: dict[int, int | None] = {}
        self.depth = 0

    def walks(self) -> Iterator[Walk]:
        if len(self.ops) > _MOST_OPERATIONS:
            return
        for block, place, op in self.ops:
            if not isinstance(op, Load) or op.space is not Space.FLAT:
                continue
            if op.args[0].width < 2 or not self._only_loses(op):
                continue
            self.guards, self.steps = [], {}
            step = self.step(op.args[0])
            widths = {guard.value.width for _, guard in self.guards}
            here = all(where == block for where, _ in self.guards)
            if step and here and widths <= {1, op.args[0].width}:
                guards = tuple(guard for _, guard in self.guards)
                latch = self.blocks[-1]
                yield Walk(self.blocks[0], latch, block, place, op, step, guards)

    def keeps_lanes(self, load: Load) -> bool:
        """Whether the lanes of a load stay the same, or leave; what follows is about them."""
        return self.is_full or (load.args[0].width > 1 and self._only_loses(load))

    def _only_loses(self, load: Load) -> bool:
        """Whether no lane is in a load's mask that was not in it in the turns before."""
        mask = self.ops[self.makers[load.args[1].id]][2]
        self.steps = {}
        self.first = mask.offset if isinstance(mask, ExecMask) else 0
        return isinstance(mask, ExecMask) or (self.is_full and self.step(mask.result) == 0)

    def step(self, value: Value) -> int | None:
        """By how much all lanes of a value change in a turn, None if that is not known."""
        if value.id not in self.steps:
            self.steps[value.id] = None  # of what depends on itself, or comes from far
            self.depth += 1
            if self.depth < _MOST_DEEP:
                self.steps[value.id] = self._step(value)
            self.depth -= 1
        return self.steps[value.id]

    def _step(self, value: Value) -> int | None:
        place = self.makers[value.id]
        op = self.ops[place][2]
        if isinstance(op, Const) or (self.is_full and isinstance(op, ExecMask)):
            return 0
        if isinstance(op, Read):
            return self._read(place, op)
        if not value.type.is_int and value.type is not BOOL:
            return None
        steps = [self.step(a) for a in op.args]
        if None in steps:
            return None
        present = [s for s in steps if s is not None]
        if op.name in ("splat", "shuffle", "concat"):
            stays = self.is_full or op.name == "splat" or not any(present)
            return present[0] if stays and len(set(present)) == 1 else None
        if op.name not in LANE_WISE:
            return None
        return self._made(place, op, present)

    def _made(self, place: int, op: Op, steps: Sequence[int]) -> int | None:
        type = op.result.type
        if not any(steps):
            return 0
        step: int | None = None
        if op.name in ("add", "sub") and len(steps) == 2:
            step = steps[0] + steps[1] if op.name == "add" else steps[0] - steps[1]
        elif op.name == "shl" and not steps[1]:
            count = self.constant(op.args[1])
            step = None if count is None else steps[0] << (count % type.bits)
        elif op.name == "mul":
            for n in (0, 1):
                factor = self.constant(op.args[1 - n])
                if factor is not None:
                    step = steps[n] * factor
        elif isinstance(op, Convert) and not op.saturate and op.args[0].type.is_int:
            step = steps[0]
            if type.bits > op.args[0].type.bits:
                self.guards.append((self.ops[place][0], Guard(op.args[0], step)))
        return None if step is None else signed(step, type.bits)

    def constant(self, value: Value) -> int | None:
        """The number that all lanes of a value are."""
        op = self.ops[self.makers[value.id]][2]
        if isinstance(op, Const) and len(set(op.lanes)) == 1:
            return signed(op.lanes[0], value.type.bits) if value.type.is_signed else op.lanes[0]
        if isinstance(op, Convert) and op.args[0].type.is_int and not op.saturate:
            return self.constant(op.args[0])
        return None

    def _is_plain_mask(self, mask: Value) -> bool:
        """Whether a mask has all lanes that execute, each of the load's at its place."""
        op = self.ops[self.makers[mask.id]][2]
        if isinstance(op, ExecMask):
            inside = op.offset + mask.width <= self.width
            return inside and (self.is_full or (op.offset == self.first and mask.width > 1))
        return isinstance(op, Const) and op.is_full

    # ---- registers

    def _read(self, place: int, op: Read) -> int | None:
        touching = [k for k in self.writes.get(op.root.name, ()) if self._touches(k, op)]
        if op.root.name in self.blocked:
            return None
        if not touching:
            return 0
        if any(k < place for k in touching):
            value = self.seen(place, op)
            return None if value is None else self.step(value)
        if len(touching) > 1:
            return None
        write = self.ops[touching[0]][2]
        assert isinstance(write, Write)
        return self._counted(write) if self._covers(write, op) else None

    def seen(self, place: int, op: Read) -> Value | None:
        """The value that a read gives, if that was written earlier in the turn."""
        earlier = [k for k in self.writes.get(op.root.name, ()) if k < place]
        touching = [k for k in earlier if self._touches(k, op)]
        if not touching or op.root.name in self.blocked:
            return None
        write = self.ops[touching[-1]][2]
        assert isinstance(write, Write)
        return write.args[0] if self._covers(write, op) else None

    def _touches(self, place: int, op: Read) -> bool:
        write = self.ops[place][2]
        assert isinstance(write, Write)
        return min(write.offsets) < op.end and min(op.offsets) < write.end

    def _covers(self, write: Write, op: Read) -> bool:
        """Whether each lane is read from a lane that is written where all execute."""
        same = write.value.type.size == op.result.type.size and write.value.type.is_int
        if not (same and self._is_plain_mask(write.args[1])):
            return False
        inside = set(op.offsets) <= set(write.offsets)
        return inside and (self.is_full or write.value.width == 1 or op.offsets == write.offsets)

    def _counted(self, write: Write) -> int | None:
        """The step of a register to which numbers are added in each turn."""
        value, total, bits = write.args[0], 0, write.value.type.bits
        for _ in range(_MOST_DEEP):
            place = self.makers[value.id]
            op = self.ops[place][2]
            if not value.type.is_int or value.type.bits < bits:
                return None
            if isinstance(op, Read):
                if op.root == write.root:
                    alike = op.offsets == write.offsets and self._covers(write, op)
                    return total if alike else None
                earlier = [k for k in self.writes.get(op.root.name, ()) if k < place]
                last = self.ops[earlier[-1]][2] if earlier else None
                if not isinstance(last, Write) or op.root.name in self.blocked:
                    return None
                if last.offsets != op.offsets or not self._covers(last, op):
                    return None
                value = last.args[0]
            elif isinstance(op, Convert) and not op.saturate:
                value = op.args[0]
            elif op.name == "add":
                numbers = [self.constant(a) for a in op.args]
                if (numbers[0] is None) == (numbers[1] is None):
                    return None
                total += next(x for x in numbers if x is not None)
                value = op.args[0 if numbers[0] is None else 1]
            else:
                return None
        return None
