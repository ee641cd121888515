"""What %cr0 holds at each place of a function: a forward analysis over constants.

%cr0 belongs to the thread, not to a lane.  Lanes that wait at a block find there what the lanes
that ran before them left, so the analysis follows not only the branches but also the order of
blocks: when lanes pass over a block where others may wait, that block runs next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace

from eumu.errors import Unsupported
from eumu.ir.function import Function, Op, Terminator
from eumu.ir.operations.ends import AnyCall, OfLanes
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import Read, Write
from eumu.records import dataclass
from eumu.types import Type

NAME = "%cr0"
Known = int | None  # the dword, or None where it is not the same constant on every path


Copies = dict[tuple[str, int], int]  # root and byte -> a dword that was made of %cr0


@dataclass(frozen=True, slots=True)
class Cr0State:
    """%cr0 at a place, and the registers that keep what it was: Intel's finalizer saves it so."""

    cr0: Known = 0
    copies: frozenset[tuple[tuple[str, int], int]] = frozenset()
    before: Known = None  # %cr0 before it was written last

    def meet(self, other: Cr0State) -> Cr0State:
        """What is known if either is there."""
        cr0 = self.cr0 if self.cr0 == other.cr0 else None
        before = self.before if self.before == other.before else None
        return Cr0State(cr0, self.copies & other.copies, before)


START = Cr0State()
States = dict[Known, Cr0State]  # what is there if %cr0 is so, for each constant that it may be
_MOST_STATES = 4  # of a block


@dataclass(slots=True)
class Tracker:
    """Follows %cr0 through the operations of a block."""

    cr0: Known
    values: dict[int, int]
    every_lane: bool = False  # whether all lanes execute
    copies: Copies = field(default_factory=dict)
    derived: set[int] = field(default_factory=set)  # values that were made of %cr0
    before: Known = None  # %cr0 before it was written last

    @classmethod
    def entering(cls, state: Cr0State, every_lane: bool) -> Tracker:
        return cls(state.cr0, {}, every_lane, dict(state.copies), before=state.before)

    @property
    def state(self) -> Cr0State:
        return Cr0State(self.cr0, frozenset(self.copies.items()), self.before)

    @property
    def kept(self) -> Known:
        """What %cr0 was before it was written last, if a register keeps it."""
        return self.before if self.before in self.copies.values() else None

    def step(self, op: Op) -> None:
        """Account for one operation."""
        if isinstance(op, Write):
            if op.root.name == NAME:
                self._write(op)
                return
            self._keep(op)
            return
        if op.name in _CLOBBER:
            self.copies.clear()
        result = self._result(op)
        if result is not None:
            self.values[op.result.id] = result & _mask(op.result.type)
            if op.name == "read" or any(x.id in self.derived for x in op.args):
                self.derived.add(op.result.id)

    def _keep(self, op: Write) -> None:
        """A write to a register: it ends copies, or makes one."""
        x, mask = op.args
        is_one = x.width == 1 and x.type.size == _DWORD and x.id in self.derived
        if not (is_one or self.copies):
            return
        root, offsets = op.root.name, op.offsets
        if self.copies and offsets:
            low, high = min(offsets) - _DWORD, max(offsets) + x.type.size
            gone = [k for k in self.copies if k[0] == root and low < k[1] < high]
            for key in gone:
                del self.copies[key]
        if is_one and self.values.get(mask.id):
            self.copies[root, offsets[0]] = self.values[x.id]

    def _result(self, op: Op) -> Known:
        if isinstance(op, Const):
            return op.lanes[0] if len(set(op.lanes)) == 1 else None
        if op.name == "exec_mask" and self.every_lane:
            return 1
        if isinstance(op, Read):
            is_of_interest = op.root.name == NAME or self.copies
            return self._read(op, set(op.offsets)) if is_of_interest else None
        if op.name not in _EVALUATE:
            return None
        values = self.values
        for x in op.args:
            if x.id not in values:
                return None
        if op.args[0].type.size != op.result.type.size and op.args[0].type.is_signed:
            return None
        return _EVALUATE[op.name](*(values[x.id] for x in op.args))

    def _read(self, op: Read, places: set[int]) -> Known:
        if len(places) != 1:
            return None
        (place,) = places
        if op.root.name != NAME:
            is_dword = op.result.type.size == _DWORD
            return self.copies.get((op.root.name, place)) if is_dword else None
        return None if self.cr0 is None else self.cr0 >> 8 * place

    def _write(self, op: Write) -> None:
        x, mask = op.args
        value, written = self.values.get(x.id), self.values.get(mask.id)
        offsets = set(op.offsets)
        if written != 0:
            self.before = self.cr0
        if value is not None and written and offsets == {0} and x.type.size == _DWORD:
            self.cr0 = value  # whatever it was
            return
        if value is None or self.cr0 is None or len(offsets) != 1:
            self.cr0 = None
            return
        shift = 8 * offsets.pop()
        changed = self.cr0 & ~(_mask(x.type) << shift) | value << shift
        # A write that some lanes may skip is known only if it changes nothing.
        if written != 0:
            self.cr0 = changed if written or changed == self.cr0 else None


_DWORD = 4
_CLOBBER = frozenset({"write_indirect", "send"})  # what writes to registers that it does not name

_EVALUATE: dict[str, Callable[..., int]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "not": lambda x: ~x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "splat": lambda x: x,
    "shuffle": lambda x: x,
    "bitcast": lambda x: x,
    "convert": lambda x: x,
    "select": lambda m, x, y: x if m else y,
}


def _mask(type: Type) -> int:
    return (1 << max(type.bits, 1)) - 1


def entry_states(function: Function) -> dict[int, States]:
    """%cr0 at the start of each block that can be reached; 0 when the thread starts.

    Raises `Unsupported` for a subroutine that changes it.
    """
    if not function.blocks:
        return {}
    together, start = stays_together(function), {START.cr0: START}
    if _prologue_only(function):
        after = Cr0State(_exit(function, 0, START, together).cr0)
        return {0: start, **{k: {after.cr0: after} for k in range(1, len(function.blocks))}}
    edges = _edges(function)
    states: dict[int, States] = {0: start}
    exits: dict[int, States] = {}
    pending: list[tuple[int, Known]] = [(0, START.cr0)]
    while pending:
        block, cr0 = pending.pop()
        if cr0 not in states[block]:
            continue
        after = _exit(function, block, states[block][cr0], together)
        exits.setdefault(block, {})[cr0] = after
        for target in edges[block]:
            there = states.setdefault(target, {})
            if _enter(there, after):
                pending.append((target, None if None in there else after.cr0))
    _check_subroutines(function, states, exits)
    return states


def _enter(states: States, state: Cr0State) -> bool:
    """Add a state to those of a block; whether that changes one."""
    if None in states or (state.cr0 not in states and len(states) == _MOST_STATES):
        state = replace(state, cr0=None)
    if state.cr0 is None:
        for other in states.values():
            state = other.meet(state)
        changes = states != {None: state}
        states.clear()
    else:
        state = states.get(state.cr0, state).meet(state)
        changes = states.get(state.cr0) != state
    states[state.cr0] = state
    return changes


def _prologue_only(function: Function) -> bool:
    """The common case: only block 0 writes %cr0, and it runs once."""
    count = len(function.blocks)
    if any(moves_cr0(op) for block in function.blocks[1:] for op in block.ops):
        return False
    return not any(0 in _own_targets(function, index) for index in range(count))


def _exit(function: Function, block: int, state: Cr0State, together: bool) -> Cr0State:
    """What is known at the end of a block; what is called may write to any register."""
    tracker = Tracker.entering(state, together)
    for op in function.blocks[block].ops:
        tracker.step(op)
    return Cr0State(tracker.cr0) if _callees(function.blocks[block].end) else tracker.state


def stays_together(function: Function) -> bool:
    """Whether all lanes of a thread execute everywhere: they start, and no branch parts them."""
    if not function.full_threads:
        return False
    ends = [(k, block.end) for k, block in enumerate(function.blocks)]
    return all(
        end is None or end.name in _UNIFORM or (end.name in _PARTS and _takes_all(function, k))
        for k, end in ends
    )


_UNIFORM = frozenset({"jump", "branch", "switch", "barrier", "trap"})
_PARTS = frozenset({"ret", "diverge", "call"})


def _procedures(function: Function) -> dict[int, set[int]]:
    """The blocks of the kernel (from block 0) and of each subroutine, by first block."""
    ends = [block.end for block in function.blocks]
    entries = {0}.union(*(_callees(end) for end in ends))
    procedures: dict[int, set[int]] = {}
    for entry in entries:
        seen, pending = {entry}, [entry]
        while pending:
            fresh = set(_own_targets(function, pending.pop())) - seen
            seen |= fresh
            pending += fresh
        procedures[entry] = seen
    return procedures


def _callees(end: Terminator | None) -> tuple[int, ...]:
    """The first blocks of what a terminator may call."""
    return end.targets[:-1] if isinstance(end, AnyCall) else ()


def _own_targets(function: Function, block: int) -> tuple[int, ...]:
    """Where lanes go within the procedure: a call goes on behind itself."""
    end = function.blocks[block].end
    if end is None or end.name == "trap":
        return ()
    if end.name in ("ret", "diverge") and _takes_all(function, block):
        return () if end.name == "ret" else end.targets[:1]
    return end.targets[len(_callees(end)) :]


def _takes_all(function: Function, block: int) -> bool:
    """Whether the mask of the terminator is constant and has every lane."""
    body = function.blocks[block]
    if not isinstance(body.end, OfLanes) or body.end.offset != 0:
        return False
    (mask,) = body.end.args
    every = set[int]()  # masks of constant ones; a mask may be one of them, spread
    for op in body.ops:
        is_spread = op.name == "splat" and op.args[0].id in every
        if is_spread or (isinstance(op, Const) and all(op.lanes)):
            every.add(op.result.id)
    return mask.id in every and mask.width >= function.width


def _edges(function: Function) -> dict[int, set[int]]:
    """Blocks that may run after each block, in the same thread."""
    edges = {index: set[int]() for index in range(len(function.blocks))}
    for index, block in enumerate(function.blocks):
        edges[index] |= set(_own_targets(function, index))
        edges[index] |= set(_callees(block.end))
    for blocks in _procedures(function).values():
        parks = sorted(set(_parks(function, blocks)))
        for index in blocks if parks else ():
            end = function.blocks[index].end
            targets = _own_targets(function, index)
            last = len(function.blocks) if end and end.name == "ret" else max(targets, default=0)
            edges[index] |= {park for park in parks if index < park < last}
    return edges


def _parks(function: Function, blocks: set[int]) -> Iterator[int]:
    """Blocks where lanes may wait while other lanes of the thread run."""
    for index in blocks:
        end = function.blocks[index].end
        if isinstance(end, OfLanes):
            yield from _own_targets(function, index)


def _check_subroutines(
    function: Function, states: dict[int, States], exits: dict[int, States]
) -> None:
    """A subroutine must leave %cr0 as it found it."""
    for entry, blocks in _procedures(function).items():
        if entry == 0 or not any(moves_cr0(op) for b in blocks for op in function.blocks[b].ops):
            continue
        for index in sorted(blocks & exits.keys()):
            end = function.blocks[index].end
            left = {state.cr0 for state in exits[index].values()}
            is_kept = len(left) == 1 and None not in left and left == states[entry].keys()
            if end and end.name == "ret" and not is_kept:
                spans = function.spans
                span = spans[end.inst] if 0 <= end.inst < len(spans) else None
                raise Unsupported("a subroutine that changes %cr0", span=span)


def moves_cr0(op: Op) -> bool:
    """Whether an operation writes to %cr0."""
    return isinstance(op, Write) and op.root.name == NAME
