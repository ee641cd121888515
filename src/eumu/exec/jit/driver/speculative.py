"""The speculative version of a thread: its lanes all go the same way, and accesses are as expected.

Most threads of most kernels without loops are such.  Nothing waits, masks are known, and no cold
path joins the main line, so that what several accesses need is made once.  What is not as expected
before the thread has changed anything ends it with ``Outcome.AGAIN``: the driver then runs the
complete version, from the beginning.
"""

from __future__ import annotations

from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.exec.jit.codegen import one_way
from eumu.exec.jit.codegen.kernel import PASSING, Place
from eumu.exec.jit.driver.blocks import Ends
from eumu.exec.jit.llvm.functions import MOSTLY, FunctionBuilder, Number
from eumu.exec.jit.llvm.layout import Record, ThreadOutcome
from eumu.exec.jit.llvm.vectors import Vector
from eumu.ir import Function, Value
from eumu.ir.operations.ends import Diverge, Ret

# What changes nothing but registers.
_HARMLESS = PASSING | {
    *("read", "write", "load", "load_block", "read_indirect", "special", "symbol")
}
_ENDS = frozenset({"jump", "branch", "switch", "diverge", "ret", "trap"})


# A thread that begins again costs twice.  After many such threads the speculative version is not
# tried for a while.
PROLOGUE = ("  %misses = alloca i64", "  store i64 0, ptr %misses")
ENTRY = ("  store i64 0, ptr %left", "  store i64 0, ptr %limit", "  br label %start")
_MISS, _KEPT, _MOST, _PAUSE = 8, 2, 512, 1024


def prepare(f: FunctionBuilder, groups: Number, threads: Vector) -> str:
    """Decide whether threads of some more groups try; the record of those that do.

    What has gone well makes good for what has not; after a pause all is forgotten.
    """
    misses = f.word("%misses", 0)
    before = misses.get()
    waited = before + groups
    still = f.where(waited > _MOST + _PAUSE, 0, waited)
    good = f.number(f.intrinsic("usub.sat", "i64", before.name, (threads * _KEPT).name))
    misses.set(f.where(before >= _MOST, still, good))
    return f.alloca(f"[{int(Record.FRAMES)} x i64]", None)


def attempt(
    f: FunctionBuilder, record: str, quick: str, payload: str, arguments: str, fault: str
) -> Vector:
    """Run a thread with all lanes, `quick` being the record of one that tries; what it ran.

    After a fault it leaves the block `fault`.
    """
    misses, ran = f.word("%misses", 0), f.variable()
    with f.block() as end:
        with f.when(misses.get() < _MOST, MOSTLY):
            words = f"ptr %ctx, ptr {quick}, ptr {payload}, i64 -1{arguments}"
            outcome = f.small(f.op(f"call i32 @speculative({words})"))
            ran.set(f.word(quick, Record.COUNT).get())
            with f.when(f.equal(outcome, ThreadOutcome.FAULT)):
                f.leave(fault)
            with f.when(f.differ(outcome, ThreadOutcome.AGAIN)):
                f.leave(end)
            misses.add(_MISS)
        f.word(record, Record.COUNT).set(0)
        f.word(record, Record.DEPTH).set(0)
        words = f"ptr %ctx, ptr {record}, ptr {payload}, i64 -1{arguments}"
        outcome = f.small(f.op(f"call i32 @thread({words})"))
        with f.when(f.equal(outcome, ThreadOutcome.FAULT)):
            f.leave(fault)
        ran.set(f.word(record, Record.COUNT).get())
    return ran.get()


class CannotSpeculate(Exception):
    """Lanes may go different ways after the thread has changed something."""


def can_be(function: Function, flow: Flow) -> bool:
    """Whether a function has a speculative version: no loops, calls or barriers."""
    for index in flow.parked:
        end = function.blocks[index].end
        if end is None or is_call(end) or end.name not in _ENDS:
            return False
        if end.name != "ret" and any(target <= index for target in end.targets):
            return False
    return True


def together(function: Function) -> Flow:
    """The flow if lanes never part."""
    flow, work = Flow(), [0]
    while work:
        index = work.pop()
        if index in flow.parked:
            continue
        flow.parked[index], flow.partial[index] = frozenset(), False
        end = function.blocks[index].end
        flow.edges[index] = set(end.targets) if end is not None else set()
        work += flow.edges[index]
    return flow


def untouched(function: Function, flow: Flow) -> frozenset[Place]:
    """The places before which the thread has changed nothing; the end of a block is one, too."""
    changed: set[int] = set()
    places: set[Place] = set()
    for index in sorted(flow.parked):  # edges lead to higher blocks
        clean, block = index not in changed, function.blocks[index]
        for place, op in enumerate(block.ops):
            if clean:
                places.add((index, place))
            clean = clean and op.name in _HARMLESS
        if clean:
            places.add((index, len(block.ops)))
        else:
            changed |= flow.edges[index]
    return frozenset(places)


class SpeculativeEnds(Ends):
    """Ends of blocks where all lanes go one way, or the thread begins again."""

    def _diverge(self, block: int, end: Diverge) -> None:
        then, other = end.targets
        if then == other:
            self.go(block, then, frozenset())
            return
        ways = f"%b{then}", f"%b{other}"
        self._all_to_next(block, end, ways)
        self._one_way(block, end.args[0], end.offset, ways)

    def _all_to_next(self, block: int, end: Diverge, ways: tuple[str, str]) -> None:
        """Go to the next of the two ways if scalars say that all lanes do."""
        mask, then = end.args[0], end.targets[0] == min(end.targets)
        if end.offset or mask.width < self.k.width or self.k.lanes(mask).full:
            return
        every = one_way.every(self.k, block, mask, then)
        if every is not None:
            some = self.e.name("some")
            self.e.do(f"br i1 {every}, label {ways[not then]}, label %{some}, !prof !1")
            self.e.label(some)

    def _ret(self, block: int, end: Ret) -> None:
        ways = ("%finished", f"%b{end.targets[0]}" if end.targets else "%finished")
        self._one_way(block, end.args[0], end.offset, ways)

    def _one_way(self, block: int, mask: Value, offset: int, ways: tuple[str, str]) -> None:
        """Go the first way if the mask has all lanes, the second if it has none."""
        inside, outside = self.chosen(mask, offset)
        if outside == "0":
            self.e.do(f"br label {ways[0]}")
            return
        if (block, len(self.k.function.blocks[block].ops)) not in self.k.untouched:
            raise CannotSpeculate
        e, mixed = self.e, self.e.name("mixed")
        every = e.op(f"icmp eq {self.word} {outside}, 0")
        e.do(f"br i1 {every}, label {ways[0]}, label %{mixed}")
        e.label(mixed)
        none = e.op(f"icmp eq {self.word} {inside}, 0")
        e.do(f"br i1 {none}, label {ways[1]}, label %again, !prof !1")

    def finish(self) -> None:
        super().finish()
        self.e.label("again")
        self.e.do(f"ret i32 {int(ThreadOutcome.AGAIN)}")
