"""What threads run abreast: which blocks, in which copies, and where they end.

All members together are like one wide thread, and what `analysis.flow` says of the lanes of one
thread holds for all lanes of all of them.  A block that may run while some of these wait elsewhere
has two copies.  In one all lanes of all members go the same way, so masks are known and nobody is
left XX"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.codegen.kernel import PASSING, Place
from eumu.exec.jit.interface import Special
from eumu.ir import Block, Function, Op, Space
from eumu.ir.operations.ends import Barrier
from eumu.ir.operations.memory import Fence, Load, LoadBlock, Store, StoreBlock
from eumu.records import dataclass

MOST_OPERATIONS: Final = 8000  # of all members together
_HARMLESS: Final = PASSING - {"write_indirect"} | {"read", "write", "load"}
_SHARED: Final = (Space.FLAT, Space.SLM)
_ENDS: Final = frozenset({"jump", "branch", "diverge"})


def united(block: int) -> int:
    """The number of the copy of a block where all lanes of all members run."""
    return 2 * block


def parted(block: int) -> int:
    """The number of the copy where members have masks."""
    return 2 * block + 1


def copies_of(block: int) -> tuple[int, int]:
    """The numbers of both copies."""
    return united(block), parted(block)


def original(copy: int) -> int:
    """The block that a copy is of."""
    return copy // 2


def is_parted(copy: int) -> bool:
    """Whether members have masks in this copy."""
    return copy % 2 == 1


@dataclass(frozen=True, slots=True)
class Plan:
    """The copies of blocks that `members` threads run abreast, and the cuts behind them.

    `function` has two copies of each block, of which some are empty; `flow` is of these copies.
    """

    members: int
    function: Function
    flow: Flow
    copies: tuple[int, ...]
    cuts: tuple[int, ...]  # blocks
    # Blocks of the plan where those leave whose arrays are the same; if there are none, at once.
    exits: tuple[int, ...]
    stores: bool  # to global memory
    tail: frozenset[int]  # the blocks that may run from the cuts on
    lanes: Flow  # of the function

    @property
    def waiting(self) -> frozenset[int]:
        """The blocks where lanes may wait while others wait elsewhere: it matters which."""
        return frozenset(i for i in self.lanes.waiting if self.is_partial(i))

    def is_partial(self, block: int) -> bool:
        """Whether lanes may wait elsewhere while a block runs."""
        return block not in self.cuts and not self.lanes.full(block)

    def meets(self, block: int) -> bool:
        """Whether all lanes may be in a block again after they parted."""
        return _meets(self.function.blocks[united(block)], self.lanes, block)

    def copy(self, target: int) -> int:
        """The copy that runs next if all lanes of all members go to a block."""
        return united(target) if united(target) in self.flow.parked else parted(target)


def plan(
    function: Function, flow: Flow, special: Special, *, in_rounds: bool, stores: bool = False
) -> Plan | None:
    """What may run abreast, if that is worth it: it has a loop or a barrier.

    Threads `in_rounds` are all of a group: then local memory may change, which is cleared if they
    begin again, and with `stores` global memory.
    """
    if not special.members or not special.full_threads or special.scratch_bytes:
        return None  # each thread has scratch space of its own
    inside = _inside(function, flow, in_rounds, stores)
    cuts, exits = _cuts(flow, inside), tuple[int, ...]()
    if stores:
        exits = tuple(sorted(_cuts(flow, _inside(function, flow, in_rounds, False)) & inside))
    tail, work = set[int](), list(cuts)
    while work:
        index = work.pop()
        if index not in tail:
            tail.add(index)
            work += flow.after(index)
    is_long = any(isinstance(function.blocks[i].end, Barrier) for i in inside)
    is_long = is_long or any(j <= i for i in inside for j in flow.after(i))
    if (not stores and not cuts) or tail & inside or not is_long:
        return None
    own = _flow(function, flow, inside, cuts)
    copies = tuple(sorted(i for i in own.parked if original(i) in inside))
    twice = replace(function, blocks=list(_copies(function, inside, own)))
    if sum(len(twice.blocks[i].ops) for i in copies) * special.members > MOST_OPERATIONS:
        return None
    ends = tuple(sorted(cuts)), exits, stores, frozenset(tail), flow
    return Plan(special.members, twice, own, copies, *ends)


def _cuts(flow: Flow, inside: set[int]) -> set[int]:
    return {j for i in inside for j in flow.after(i)} - inside


# ---- blocks


def _inside(function: Function, flow: Flow, in_rounds: bool, stores: bool) -> set[int]:
    """The blocks that may run abreast.

    All lanes are there at a cut: a block that some may leave for what cannot run abreast cannot
    itself.
    """
    bad = {i for i in flow.parked if not _fits(function.blocks[i], in_rounds, stores)}
    bad |= {i for i in flow.parked if _is_last(function.blocks[i]) and not _ends_all(flow, i)}
    while True:
        inside, work = set[int](), [0]
        while work:
            index = work.pop()
            if index not in inside and index not in bad:
                inside.add(index)
                work += flow.after(index)
        leads = {i for i in inside for j in flow.after(i) if j in bad and not flow.full(j)}
        if not leads:
            return inside
        bad |= leads


def _is_last(block: Block) -> bool:
    return block.end is not None and block.end.name == "ret"


def _ends_all(flow: Flow, index: int) -> bool:
    """Whether a block that ends lanes ends all of them."""
    return flow.full(index) and not flow.after(index)


def _fits(block: Block, in_rounds: bool, stores: bool) -> bool:
    """Whether members may run a block abreast: it changes nothing, or only what is the group's."""
    end = block.end
    meets = isinstance(end, Barrier) and in_rounds and end.kind == "sync" and not end.args
    if end is None or not (meets or end.name in _ENDS or (stores and _is_last(block))):
        return False
    return all(
        _is_harmless(op) or (in_rounds and _is_of_group(op)) or (stores and is_global_store(op))
        for op in block.ops
    )


def is_global_store(op: Op) -> bool:
    """Whether an operation stores to global memory."""
    return isinstance(op, (Store, StoreBlock)) and op.space is Space.FLAT


def is_global_load(op: Op) -> bool:
    """Whether an operation loads from global memory."""
    return isinstance(op, (Load, LoadBlock)) and op.space is Space.FLAT


def _is_harmless(op: Op) -> bool:
    """Whether an operation changes nothing but registers, and members need nothing of their own."""
    return op.name in _HARMLESS and not (isinstance(op, Load) and op.space not in _SHARED)


def _is_of_group(op: Op) -> bool:
    """Whether an operation is for groups that meet, and changes or orders nothing but local
    memory.

    In loops where nobody meets, what one thread loads alone is better left to it: it reads ahead.
    """
    if isinstance(op, Fence):
        return op.scope == "local"
    if isinstance(op, LoadBlock):
        return op.space in _SHARED
    return isinstance(op, (Store, StoreBlock)) and op.space is Space.SLM


# ---- copies


def _flow(function: Function, flow: Flow, inside: set[int], cuts: set[int]) -> Flow:
    """The flow of the copies that members may reach, and of the cuts."""
    looped = flow.repeated()

    def has_united(block: int) -> bool:
        """A side path is short, unless a loop is behind it."""
        is_side = not flow.full(block) and all(flow.full(j) for j in flow.after(block))
        is_needed = block in looped or isinstance(function.blocks[block].end, Barrier)
        return block in cuts or is_needed or not is_side

    def apart(block: int) -> int:
        return united(block) if flow.full(block) else parted(block)

    own, work = Flow(), [united(0)]
    while work:
        copy = work.pop()
        if copy in own.parked:
            continue
        block = original(copy)
        own.parked[copy], own.partial[copy] = frozenset(), is_parted(copy)
        if block in cuts:
            continue
        end, after = function.blocks[block].end, set[int]()
        assert end is not None
        if not is_parted(copy) and end.name != "ret":
            after = {united(j) if has_united(j) else parted(j) for j in end.targets}
        elif has_united(block) and _meets(function.blocks[block], flow, block):
            after = {united(block)}
        if is_parted(copy) and isinstance(end, Barrier):
            pass
        elif is_parted(copy) or (end.name == "diverge" and len(set(end.targets)) > 1):
            after |= {apart(j) for j in flow.after(block)}
        own.edges[copy] = after
        work += after
    return own


def _meets(block: Block, flow: Flow, index: int) -> bool:
    """Whether all may be in a block again after they parted, though some could be elsewhere."""
    return index in flow.waiting or isinstance(block.end, Barrier)


def _copies(function: Function, inside: set[int], own: Flow) -> Iterable[Block]:
    for index, block in enumerate(function.blocks):
        nothing = Block(block.label)
        for copy in (united(index), parted(index)):
            runs = copy in own.parked
            runs = runs and not (is_parted(copy) and isinstance(block.end, Barrier))
            yield block if runs or (index not in inside and not is_parted(copy)) else nothing


def untouched(plan: Plan) -> frozenset[Place]:
    """The places where an access that is not as expected begins again at once: all of the copies
    where nobody is left out, the ends of blocks included, and stores to global memory."""
    places = set[Place]()
    for i in plan.copies:
        ops = plan.function.blocks[i].ops
        if is_parted(i):
            places.update((i, p) for p, op in enumerate(ops) if is_global_store(op))
        else:
            places.update((i, p) for p in range(len(ops) + 1))
    return frozenset(places)


def behind(flow: Flow, tail: frozenset[int]) -> Flow:
    """The flow from the cuts on."""
    return Flow(
        {i: flow.parked[i] for i in tail},
        {i: flow.partial[i] for i in tail},
        {i: flow.edges[i] for i in tail if i in flow.edges},
        flow.waiting,
        flow.rotating,
        flow.stuck,
    )
