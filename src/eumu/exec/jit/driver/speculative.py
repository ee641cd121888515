"""The speculative version of a thread: its lanes all go the same way, and accesses are as expected.

Most threads of most kernels without loops are such.  Nothing waits, masks are known, and no cold
path joins the main line, so that what several accesses need is made once.  What is not as expected
before the thread has changed anything ends it with ``Outcome.AGAIN``: the driver then runs the
complete version, from the beginning.
"""

from __future__ import annotations

from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.exec.jit.codegen.kernel import PASSING, Place
from eumu.exec.jit.driver.blocks import Ends
from eumu.exec.jit.llvm.layout import Outcome, Record
from eumu.ir import Function, Value
from eumu.ir.operations.ends import Diverge, Ret

# What changes nothing but registers.
_HARMLESS = PASSING | {"read", "write", "load", "load_block", "read_indirect"}
_ENDS = frozenset({"jump", "branch", "switch", "diverge", "ret", "trap"})


# A thread that begins again costs twice.  After many such threads the speculative version is not
# tried for a while.
PROLOGUE = ("  %misses = alloca i64", "  store i64 0, ptr %misses")
ENTRY = ("  store i64 0, ptr %left", "  store i64 0, ptr %limit", "  br label %start")
_MISS, _KEPT, _MOST, _PAUSE = 8, 2, 512, 1024
# A thread tries (all are full); what a group of threads makes good.
TRY = f"""  %bad = load i64, ptr %misses
  %try = icmp ult i64 %bad, {_MOST}
  br i1 %try, label %short, label %long, !prof !1
short:
  %quick = call i32 @speculative(ptr %ctx, ptr %q, ptr %payload, i64 -1$ARGUMENTS)
  %q.count = getelementptr i64, ptr %q, i64 {int(Record.COUNT)}
  %ran.short = load i64, ptr %q.count
  switch i32 %quick, label %on [
    i32 {int(Outcome.AGAIN)}, label %missed
    i32 {int(Outcome.FAULT)}, label %fault
  ]
missed:
  %worse = add i64 %bad, {_MISS}
  store i64 %worse, ptr %misses
  br label %long
long:
  %r.count = getelementptr i64, ptr %r, i64 {int(Record.COUNT)}
  %r.depth = getelementptr i64, ptr %r, i64 {int(Record.DEPTH)}
  store i64 0, ptr %r.count
  store i64 0, ptr %r.depth
  %whole = call i32 @thread(ptr %ctx, ptr %r, ptr %payload, i64 -1$ARGUMENTS)
  %ran.long = load i64, ptr %r.count
  %broken = icmp eq i32 %whole, {int(Outcome.FAULT)}
  br i1 %broken, label %fault, label %on
on:
  %ran = phi i64 [ %ran.short, %short ], [ %ran.long, %long ]
"""


def missed_before(groups: str, threads: str) -> str:
    """Whether threads of some more groups should try: what has gone well or waited meanwhile."""
    return f"""  %q = alloca [{int(Record.FRAMES)} x i64]
  %was = load i64, ptr %misses
  %paused = icmp uge i64 %was, {_MOST}
  %waited = add i64 %was, {groups}
  %over = icmp ugt i64 %waited, {_MOST + _PAUSE}
  %still = select i1 %over, i64 0, i64 %waited
  %good = mul i64 {threads}, {_KEPT}
  %less = call i64 @llvm.usub.sat.i64(i64 %was, i64 %good)
  %misses.now = select i1 %paused, i64 %still, i64 %less
  store i64 %misses.now, ptr %misses
"""


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
    found: set[Place] = set()
    for index in sorted(flow.parked):  # edges lead to higher blocks
        clean, block = index not in changed, function.blocks[index]
        for place, op in enumerate(block.ops):
            if clean:
                found.add((index, place))
            clean = clean and op.name in _HARMLESS
        if clean:
            found.add((index, len(block.ops)))
        else:
            changed |= flow.edges[index]
    return frozenset(found)


class SpeculativeEnds(Ends):
    """Ends of blocks where all lanes go one way, or the thread begins again."""

    def _diverge(self, block: int, end: Diverge) -> None:
        then, other = end.targets
        if then == other:
            self.go(block, then, frozenset())
            return
        self._one_way(block, end.args[0], end.offset, (f"%b{then}", f"%b{other}"))

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
        self.e.do(f"ret i32 {int(Outcome.AGAIN)}")
