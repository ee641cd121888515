"""What %cr0 holds at each place of a function: a forward analysis over constants.

%cr0 belongs to the thread, not to a lane.  Lanes that wait at a block find there what the lanes
that ran before them left, so the analysis follows not only the branches but also the order of
blocks: when lanes pass over a block where others may wait, that block runs next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eumu.errors import Unsupported
from eumu.ir.function import Function, Op, Terminator
from eumu.types import Type

NAME = "%cr0"
Known = int | None  # the dword, or None where it is not the same constant on every path


@dataclass(slots=True)
class Tracker:
    """Follows %cr0 through the operations of a block."""

    cr0: Known
    values: dict[int, int]
    every_lane: bool = False  # whether all lanes execute

    @classmethod
    def entering(cls, cr0: Known, every_lane: bool) -> Tracker:
        return cls(cr0, {}, every_lane)

    def step(self, op: Op) -> None:
        """Account for one operation."""
        if op.name == "write" and op.attrs["root"].name == NAME:
            self._write(op)
            return
        known = self._result(op)
        if known is not None:
            self.values[op.result.id] = known & _mask(op.result.type)

    def _result(self, op: Op) -> Known:
        if op.name == "const":
            lanes: set[int] = set(op.attrs["lanes"])
            return lanes.pop() if len(lanes) == 1 else None
        if op.name == "exec_mask" and self.every_lane:
            return 1
        if op.name == "read" and op.attrs["root"].name == NAME:
            offsets = set(op.attrs["region"].offsets(op.result.width))
            if self.cr0 is None or len(offsets) != 1:
                return None
            offset: int = offsets.pop()
            return self.cr0 >> 8 * offset
        if op.name not in _EVALUATE or any(x.id not in self.values for x in op.args):
            return None
        if op.args[0].type.size != op.result.type.size and op.args[0].type.is_signed:
            return None
        return _EVALUATE[op.name](*(self.values[x.id] for x in op.args))

    def _write(self, op: Op) -> None:
        x, mask = op.args
        value, written = self.values.get(x.id), self.values.get(mask.id)
        offsets = set(op.attrs["region"].offsets(x.width))
        if value is None or self.cr0 is None or len(offsets) != 1:
            self.cr0 = None
            return
        shift = 8 * offsets.pop()
        changed = self.cr0 & ~(_mask(x.type) << shift) | value << shift
        # A write that some lanes may skip is known only if it changes nothing.
        if written != 0:
            self.cr0 = changed if written or changed == self.cr0 else None


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


def entry_states(function: Function) -> dict[int, Known]:
    """%cr0 at the start of each block that can be reached; 0 when the thread starts.

    Raises `Unsupported` for a subroutine that changes it.
    """
    if not function.blocks:
        return {}
    together = stays_together(function)
    if _prologue_only(function):
        after = _exit(function, 0, 0, together)
        return {0: 0, **dict.fromkeys(range(1, len(function.blocks)), after)}
    edges = _edges(function)
    states: dict[int, Known] = {0: 0}
    exits: dict[int, Known] = {}
    pending = [0]
    while pending:
        block = pending.pop()
        exits[block] = _exit(function, block, states[block], together)
        for target in edges[block]:
            if target not in states:
                states[target] = exits[block]
            elif states[target] is None or states[target] == exits[block]:
                continue
            else:
                states[target] = None
            pending.append(target)
    _check_subroutines(function, states, exits)
    return states


def _prologue_only(function: Function) -> bool:
    """The common case: only block 0 writes %cr0, and it runs once."""
    count = len(function.blocks)
    if any(_writes(op) for block in function.blocks[1:] for op in block.ops):
        return False
    return not any(0 in _own_targets(function, index) for index in range(count))


def _exit(function: Function, block: int, cr0: Known, together: bool) -> Known:
    """%cr0 at the end of a block that it enters as `cr0`."""
    tracker = Tracker.entering(cr0, together)
    for op in function.blocks[block].ops:
        tracker.step(op)
    return tracker.cr0


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
    found: dict[int, set[int]] = {}
    for entry in entries:
        seen, pending = {entry}, [entry]
        while pending:
            fresh = set(_own_targets(function, pending.pop())) - seen
            seen |= fresh
            pending += fresh
        found[entry] = seen
    return found


def _callees(end: Terminator | None) -> tuple[int, ...]:
    """The first blocks of what a terminator may call."""
    return end.targets[:-1] if end and end.name in ("call", "call_indirect") else ()


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
    found = function.blocks[block]
    if found.end is None or found.end.attrs["offset"] != 0:
        return False
    (mask,) = found.end.args
    every = set[int]()  # masks of constant ones; a mask may be one of them, spread
    for op in found.ops:
        is_spread = op.name == "splat" and op.args[0].id in every
        if is_spread or (op.name == "const" and all(op.attrs["lanes"])):
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
        if end and end.name in ("diverge", "ret", "call", "call_indirect"):
            yield from _own_targets(function, index)


def _check_subroutines(
    function: Function, states: dict[int, Known], exits: dict[int, Known]
) -> None:
    """A subroutine must leave %cr0 as it found it."""
    for entry, blocks in _procedures(function).items():
        if entry == 0 or not any(_writes(op) for b in blocks for op in function.blocks[b].ops):
            continue
        for index in sorted(blocks & exits.keys()):
            end = function.blocks[index].end
            if (
                end
                and end.name == "ret"
                and (exits[index] is None or exits[index] != states[entry])
            ):
                spans = function.spans
                span = spans[end.inst] if 0 <= end.inst < len(spans) else None
                raise Unsupported("a subroutine that changes %cr0", span=span)


def _writes(op: Op) -> bool:
    return op.name == "write" and op.attrs["root"].name == NAME
