"""What a terminator does to the waiting blocks of the lanes that reach it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eumu.exec.interp.barriers import Barriers
from eumu.exec.interp.fairness import LaneOrder
from eumu.exec.interp.saved import Saved
from eumu.exec.interp.site import BlockSite
from eumu.exec.interp.values import ALL, Lanes, Mask, Run, Slots, full, lowest
from eumu.exec.state import BLOCKED, DONE
from eumu.ir import Root, Terminator
from eumu.ir.operations.ends import (
    AnyCall,
    Barrier,
    Branch,
    Call,
    CallIndirect,
    Diverge,
    Jump,
    Ret,
    Switch,
    Trap,
)
from eumu.ir.operations.row import Table

MOST_FRAMES = 1024

Move = Callable[[Slots, Run], None]

# Ends of blocks that never go back to an earlier block of their frame.
_NO_LOOPS = frozenset({"call", "call_indirect", "ret", "barrier", "trap"})


class Flow:
    """The waiting blocks of a machine; `next_block` is int32[threads], each thread's lowest one.

    `loop` is the instruction of the last backward branch of each thread.
    """

    def __init__(self, site: BlockSite) -> None:
        self.site, self.state = site, site.state
        threads = site.state.threads
        self.next_block = np.full(threads, DONE, np.int32)
        self.loop = np.full(threads, -1, np.int32)
        self.barriers = Barriers(site, self.next_block)
        self.order = site.order = LaneOrder(site.state, self.next_block)
        self.saved = Saved(site.state, site.labels.arrays if site.labels is not None else {})
        self._waiting = False

    def start(self) -> None:
        """Take up the waiting blocks that the state was started with."""
        self.next_block[...] = self.state.pc.min(axis=1)
        self.loop[...] = -1
        self._waiting = False
        self.barriers.start()
        self.order.start()
        self.saved.start()

    def wait_for_barriers(self) -> None:
        """After the state was loaded: threads may be at barriers already."""
        self._waiting = bool((self.next_block == BLOCKED).any())

    def make(self, end: Terminator, arguments: list[int], block: int) -> Move:
        """The move that a terminator of `block` makes."""
        move = MOVES[end.name](self, end, arguments)
        if end.name in _NO_LOOPS or min(end.targets) > block:
            return move

        def loop(v: Slots, run: Run) -> None:
            move(v, run)
            self._back_edges(run, end.inst)

        return loop

    def finish(self, run: Run) -> None:
        """After a move: lanes set aside, barriers that may open."""
        if self.order.aside:
            self.order.ran(run.threads)
        if self._waiting and (self.next_block[run.rows] >= BLOCKED).any():
            self.barriers.settle()
            self._waiting = bool((self.next_block == BLOCKED).any())

    def _back_edges(self, run: Run, inst: int) -> None:
        back = self.next_block[run.rows] <= run.block
        if run.active is ALL:
            self.loop[run.rows] = inst
            return
        threads = run.threads[back]
        self.loop[threads] = inst
        if len(threads) and not self.site.function.together:
            self.order.back_edge(threads)

    # ---- moving lanes

    def move(self, run: Run, target: int | Lanes) -> None:
        """Active lanes go to `target`: one block, or blocks that broadcast to [threads, width]."""
        rows, pc = run.rows, self.state.pc
        if run.active is ALL:
            pc[rows] = target
            low = target if isinstance(target, int) else lowest(pc[rows])
            self.next_block[rows] = low
            return
        frame = np.where(run.active, np.asarray(target, np.int32), pc[rows])
        pc[rows] = frame
        self.next_block[rows] = lowest(frame)

    def spread(self, mask: Mask, width: int, offset: int, run: Run) -> Mask:
        """A mask over lanes `offset`… as [threads, lanes of the thread], clear elsewhere."""
        lanes = self.state.width
        if offset == 0 and width == lanes:
            return np.broadcast_to(mask, (run.count, lanes))
        out = np.zeros((run.count, lanes), bool)
        stop = min(offset + width, lanes)
        out[:, offset:stop] = mask if mask.shape[1] == 1 else mask[:, : stop - offset]
        return out

    def enter(self, end: AnyCall, run: Run, entered: Mask, callees: Lanes) -> None:
        """Lanes in `entered` call; `callees` is [1 or threads, 1]."""
        deep = np.flatnonzero(self.state.depth[run.rows] >= MOST_FRAMES)
        if len(deep):
            thread = int(run.threads[deep[0]])
            raise self.site.fault(
                f"more than {MOST_FRAMES} nested calls", end.inst, thread, code="call-depth"
            )
        self.move(run, end.targets[-1])
        self.push(run, entered, callees, end.saves)

    def push(self, run: Run, entered: Mask, callees: Lanes, saves: tuple[Root, ...]) -> None:
        """Open a frame in every thread that has a lane in `entered`."""
        state = self.state
        callers = entered.any(axis=1)
        threads = run.threads[callers]
        callee = np.broadcast_to(callees, (run.count, 1))[callers]
        if saves:
            self.saved.put(threads, saves)
        for depth in np.unique(state.depth[threads]):
            if depth >= len(state.frames):
                state.frames.append(np.full_like(state.pc, DONE))
            same = threads[state.depth[threads] == depth]
            state.frames[depth][same] = state.pc[same]
        state.pc[threads] = np.where(entered[callers], callee, np.int32(DONE))
        state.depth[threads] += 1
        self.next_block[threads] = callee[:, 0]

    def pop(self, run: Run) -> None:
        """Close the frames that have no lane left."""
        state = self.state
        threads = run.threads
        empty = threads[(self.next_block[threads] == DONE) & (state.depth[threads] > 0)]
        while len(empty):
            state.depth[empty] -= 1
            for depth in np.unique(state.depth[empty]):
                same = empty[state.depth[empty] == depth]
                state.pc[same] = state.frames[depth][same]
                self.saved.take(int(depth), same)
            self.next_block[empty] = state.pc[empty].min(axis=1)
            empty = empty[(self.next_block[empty] == DONE) & (state.depth[empty] > 0)]

    def pass_barrier(self, run: Run, after: int, *, blocked: bool) -> None:
        """Behind a barrier: threads go on, or wait to go on; a signal may free others."""
        self.move(run, after)
        if blocked:
            self.next_block[run.rows] = BLOCKED
            self._waiting = True
        elif self._waiting:
            self.barriers.settle()


MOVES: Table[Flow, [list[int]], Move] = Table()


@MOVES.on(Jump)
def _jump(flow: Flow, end: Jump, arguments: list[int]) -> Move:
    (target,) = end.targets

    def move(v: Slots, run: Run) -> None:
        flow.move(run, target)

    return move


@MOVES.on(Branch)
def _branch(flow: Flow, end: Branch, arguments: list[int]) -> Move:
    (then, otherwise), (m,) = end.targets, arguments

    def move(v: Slots, run: Run) -> None:
        mask = v[m]
        if mask.all():
            flow.move(run, then)
        elif not mask.any():
            flow.move(run, otherwise)
        else:
            flow.move(run, np.where(mask, then, otherwise))

    return move


@MOVES.on(Diverge)
def _diverge(flow: Flow, end: Diverge, arguments: list[int]) -> Move:
    (then, otherwise), (m,) = end.targets, arguments
    width, offset = end.args[0].width, end.offset

    def move(v: Slots, run: Run) -> None:
        taken = flow.spread(v[m], width, offset, run)
        if taken.all():
            flow.move(run, then)
        elif not taken.any():
            flow.move(run, otherwise)
        else:
            flow.move(run, np.where(taken, np.int32(then), np.int32(otherwise)))

    return move


@MOVES.on(Switch)
def _switch(flow: Flow, end: Switch, arguments: list[int]) -> Move:
    targets, (x,) = np.array(end.targets, np.int32), arguments

    def move(v: Slots, run: Run) -> None:
        flow.move(run, targets[np.minimum(v[x], len(targets) - 1)])

    return move


@MOVES.on(Call)
def _call(flow: Flow, end: Call, arguments: list[int]) -> Move:
    callees = np.array([[end.targets[0]]], np.int32)
    width, offset, (m,) = end.args[0].width, end.offset, arguments

    def move(v: Slots, run: Run) -> None:
        flow.enter(end, run, flow.spread(v[m], width, offset, run) & run.active, callees)

    return move


@MOVES.on(CallIndirect)
def _call_indirect(flow: Flow, end: CallIndirect, arguments: list[int]) -> Move:
    order = sorted(zip(end.addresses, end.targets, strict=False))
    addresses = np.array([address for address, _ in order], np.uint32)
    blocks = np.array([block for _, block in order] or [0], np.int32)
    width, offset, (m, x) = end.args[0].width, end.offset, arguments

    def move(v: Slots, run: Run) -> None:
        entered = flow.spread(v[m], width, offset, run) & run.active
        wanted = np.broadcast_to(v[x].astype(np.uint32), (run.count, 1))
        index = np.minimum(np.searchsorted(addresses, wanted), len(blocks) - 1)
        matches = addresses[index] == wanted if len(addresses) else np.zeros((run.count, 1), bool)
        lost = entered & ~matches
        if lost.any():
            row = int(np.flatnonzero(lost.any(axis=1))[0])
            lanes, address = np.flatnonzero(lost[row]).tolist(), int(wanted[row, 0])
            reason = f"call of address {address:#x}, where no function is"
            raise flow.site.fault(
                reason, end.inst, int(run.threads[row]), lanes, address, code="call-target"
            )
        flow.enter(end, run, entered, blocks[index])

    return move


@MOVES.on(Ret)
def _ret(flow: Flow, end: Ret, arguments: list[int]) -> Move:
    (after,), (m,) = end.targets, arguments
    width, offset = end.args[0].width, end.offset

    def move(v: Slots, run: Run) -> None:
        left = flow.spread(v[m], width, offset, run)
        flow.move(run, np.where(left, np.int32(DONE), np.int32(after)))
        flow.pop(run)

    return move


@MOVES.on(Barrier)
def _barrier(flow: Flow, end: Barrier, arguments: list[int]) -> Move:
    (after,), kind = end.targets, end.kind

    def move(v: Slots, run: Run) -> None:
        blocked = flow.barriers.meet(run, kind, end.inst, after)
        flow.pass_barrier(run, after, blocked=blocked)

    def move_pairs(v: Slots, run: Run) -> None:
        flow.barriers.meet_pairs(run, end.inst, after)
        flow.pass_barrier(run, after, blocked=True)

    def move_named(v: Slots, run: Run) -> None:
        name, *signal = (full(v[x], run, 1) for x in arguments)
        if signal:
            flow.barriers.signal_named(run, end.inst, name, signal)
        else:
            flow.barriers.wait_named(run, end.inst, name, after)
        flow.pass_barrier(run, after, blocked=not signal)

    if kind == "pair":
        return move_pairs
    return move_named if arguments else move


@MOVES.on(Trap)
def _trap(flow: Flow, end: Trap, arguments: list[int]) -> Move:
    reason = end.reason

    def move(v: Slots, run: Run) -> None:
        active = np.broadcast_to(run.active, (run.count, flow.state.width))
        lanes = [int(lane) for lane in np.flatnonzero(active[0])]
        raise flow.site.fault(reason, end.inst, int(run.threads[0]), lanes, code="trap")

    return move
