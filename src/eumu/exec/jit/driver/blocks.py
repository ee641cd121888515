"""Terminators: which block runs next, with which lanes.

``%em`` holds the executing lanes, ``%park<n>`` those that wait at block n; both are integers with a
bit a lane.  A jump past blocks where lanes may wait parks its lanes and resumes at the lowest one.
"""

from __future__ import annotations

from collections.abc import Iterable

from eumu.exec.jit.codegen import ahead, counted
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.driver import named
from eumu.exec.jit.driver.calls import Calls, calls_of, frames_size
from eumu.exec.jit.driver.suspend import Resume, cleared
from eumu.exec.jit.llvm.attention import KEEPING
from eumu.exec.jit.llvm.layout import NO_LIMIT, FaultKind, Record, ThreadOutcome
from eumu.ir import Terminator, Value
from eumu.ir.operations.ends import AnyCall, Barrier, Diverge, Ret, Trap

_STUCK = (
    "endless-loop lanes of the thread wait for other lanes of it; code with as many branches lets"
    " them run on the interpreter only"
)
_FEW, _MANY = 4, 512  # blocks where lanes may wait: at a jump, and in all blocks together
_MANY_CALLS = 50  # a return leads behind each: what waits there would be merged at each return


class Ends:
    """Emits the end of every block of a kernel."""

    def __init__(self, k: KernelLowering, resume: Resume) -> None:
        self.k, self.e, self.resume = k, k.e, resume
        self.word = f"i{k.width}"
        self.calls = Calls(self)
        self.instructions = 0  # of the block that ends
        # Where in the record the masks of a divergent barrier are left, in bytes.
        self.waiting = 8 * Record.FRAMES + frames_size(k.function, k.flow)
        self.has_named = named.has_named(k.function)
        # One place looks for the block that runs next where each jump would have many to test.
        self.shares = sum(map(len, k.flow.parked.values())) > _MANY
        self.keeps_alive = self.calls.exist or self.shares
        self.in_memory = self.shares or sum(1 for _ in calls_of(k.function)) > _MANY_CALLS

    def park(self, block: int) -> str:
        return f"%park{block}"

    def declare(self) -> None:
        """Variables of the masks."""
        entry, word = self.e.entry, self.word
        entry += [f"  %em = alloca {word}", "  %left = alloca i64", "  %limit = alloca i64"]
        if self.keeps_alive:
            entry.append(f"  %alive = alloca {word}")
            self.k.registers.variables["%alive"] = word
        waiting = sorted(self.k.flow.waiting)
        if self.in_memory and waiting:
            self._in_memory(waiting)
            return
        for block in waiting:
            entry.append(f"  {self.park(block)} = alloca {word}")
            entry.append(f"  store {word} 0, ptr {self.park(block)}")

    def _in_memory(self, waiting: list[int]) -> None:
        """Masks that LLVM leaves in memory: each would be merged wherever blocks meet."""
        kind = f"[{len(waiting)} x {self.word}]"
        masks = self.resume.parks = self.e.alloca(kind, None)
        self.k.registers.variables[masks] = kind
        self.e.entry += [
            cleared(masks, kind),
            "  %parks.place = alloca ptr",
            f"  store volatile ptr {masks}, ptr %parks.place",
            "  %parks = load volatile ptr, ptr %parks.place",
        ]
        for n, block in enumerate(waiting):
            place = f"getelementptr {self.word}, ptr %parks, i64 {n}"
            self.e.entry.append(f"  {self.park(block)} = {place}")

    def begin(self, block: int) -> None:
        """The start of a block: lanes that wait here join."""
        e, word = self.e, self.word
        e.label(f"b{block}")
        if block in self.k.flow.waiting:
            here = e.op(f"load {word}, ptr {self.park(block)}")
            em = e.op(f"load {word}, ptr %em")
            e.do(f"store {word} {e.op(f'or {word} {here}, {em}')}, ptr %em")
            e.do(f"store {word} 0, ptr {self.park(block)}")
        if self.k.facts.full_threads and self.k.flow.full(block):
            e.do(f"store {word} -1, ptr %em")
        if ahead.begin(self.k, block) | counted.begin(self.k, block):
            e.do(f"br label %b{block}.again")
            e.label(f"b{block}.again")

    def end(self, block: int, end: Terminator, instructions: int) -> None:
        """Count the block's instructions, then leave it."""
        self.instructions = instructions
        self.e.mark(end.inst)
        if end.name != "branch":  # which counts on both its ways: then a loop's test is the count's
            self._count()
        getattr(self, f"_{end.name}")(block, end)

    def _count(self) -> None:
        """So many instructions fewer until the thread looks up."""
        if self.instructions:
            left = self.e.op("load i64, ptr %left")
            rest = self.e.op(f"sub i64 {left}, {self.instructions}")
            self.e.do(f"store i64 {rest}, ptr %left")

    # ---- moving all executing lanes

    def go(self, block: int, target: int, parked: frozenset[int]) -> None:
        """All executing lanes move to `target`."""
        if target <= block:
            self.spend(block, target, parked)
        if any(k < target for k in parked):
            self.wait(target)
            self.dispatch(parked | {target})
        else:
            self.e.do(f"br label %{self._again(block, target)}")

    def _again(self, block: int, target: int) -> str:
        """The label of a block as the target of a jump."""
        loops = ahead.loops(self.k) | counted.loops(self.k)
        return f"b{target}.again" if (block, target) in loops else f"b{target}"

    def wait(self, target: int, lanes: str | None = None) -> None:
        """Park the executing lanes (none execute then), or the given ones."""
        e, word = self.e, self.word
        em = lanes if lanes is not None else e.op(f"load {word}, ptr %em")
        old = e.op(f"load {word}, ptr {self.park(target)}")
        e.do(f"store {word} {e.op(f'or {word} {old}, {em}')}, ptr {self.park(target)}")
        if lanes is None:
            e.do(f"store {word} 0, ptr %em")

    def dispatch(self, blocks: Iterable[int], *, empty: str | None = None) -> None:
        """Run the lowest block with waiting lanes; go to label `empty` if there can be none."""
        order = sorted(blocks)
        if self.shares and len(order) > _FEW and empty in (None, "finished"):
            self.e.do("br label %dispatch")
        else:
            self._first_of(order, empty)

    def _first_of(self, order: list[int], empty: str | None) -> None:
        e, word = self.e, self.word
        for n, block in enumerate(order):
            if n == len(order) - 1 and empty is None:
                e.do(f"br label %b{block}")
                return
            here = e.op(f"load {word}, ptr {self.park(block)}")
            some, other = e.op(f"icmp ne {word} {here}, 0"), e.name("else")
            e.do(f"br i1 {some}, label %b{block}, label %{other}")
            e.label(other)
        e.do(f"br label %{empty}")

    def spend(self, block: int, target: int, parked: frozenset[int] = frozenset()) -> None:
        """A back-edge or a call: look up now and then, and check the instruction budget."""
        k, e = self.k, self.e
        left = e.op("load i64, ptr %left")
        over, out, on = e.op(f"icmp slt i64 {left}, 0"), e.name("over"), e.name("on")
        e.do(f"br i1 {over}, label %{out}, label %{on}, !prof !0")
        e.label(out)
        end = k.function.blocks[block].end
        site = k.site(end.inst if end else -1, "fuel")
        count = k.count()
        more = e.op(f"call {KEEPING} i64 @look.thread(ptr %ctx, i64 {count})")
        bad, stop, rest = e.op(f"icmp ult i64 {more}, {NO_LIMIT}"), e.name("stop"), e.name("rest")
        e.do(f"br i1 {bad}, label %{stop}, label %{rest}, !prof !0")
        e.label(stop)
        k.fault(more, site, self.lanes(self._alive(block)))
        e.label(rest)
        if target <= block and target in self.resume.headers:
            may_wait = target in k.flow.rotating or target in k.flow.stuck
            others = parked - {target} if may_wait else frozenset()
            waits = target in self.resume.spinning
            outcome = ThreadOutcome.WAIT if waits else ThreadOutcome.YIELD
            self.resume.save(target, outcome, others)
        else:
            e.do(f"store i64 {more}, ptr %limit")
            e.do(f"store i64 {e.op(f'sub i64 {more}, {count}')}, ptr %left")
            e.do(f"br label %{on}")
        e.label(on)

    def rotate(self, target: int, others: frozenset[int]) -> None:
        """The executing lanes wait at `target` in vain: let lanes that wait elsewhere run."""
        if target in self.k.flow.stuck:
            self.e.do(f"br label %stuck{target}")
            return
        e, none = self.e, self.e.name("none")
        self.wait(target)
        self.dispatch(others, empty=none)
        e.label(none)
        e.do(f"br label %b{target}")

    def _alive(self, block: int) -> str:
        """The lanes of the thread that have not ended."""
        e, word = self.e, self.word
        if self.keeps_alive:
            return e.op(f"load {word}, ptr %alive")
        alive = e.op(f"load {word}, ptr %em")
        for j in sorted(self._parked(block)):
            here = e.op(f"load {word}, ptr {self.park(j)}")
            alive = e.op(f"or {word} {alive}, {here}")
        return alive

    def lanes(self, bits: str | None = None) -> str:
        """The executing lanes, or the given ones, as 64 bits."""
        bits = bits or self.e.op(f"load {self.word}, ptr %em")
        if self.k.width >= 64:
            return bits
        return self.e.op(f"zext {self.word} {bits} to i64")

    # ---- terminators

    def _parked(self, block: int) -> frozenset[int]:
        return self.k.flow.parked[block]

    def _jump(self, block: int, end: Terminator) -> None:
        self.go(block, end.targets[0], self._parked(block))

    def _branch(self, block: int, end: Terminator) -> None:
        e = self.e
        labels = [e.name("then"), e.name("else")]
        e.do(f"br i1 {self.k.vector(end.args[0])}, label %{labels[0]}, label %{labels[1]}")
        for label, target in zip(labels, end.targets, strict=True):
            e.label(label)
            self._count()
            self.go(block, target, self._parked(block))

    def _switch(self, block: int, end: Terminator) -> None:
        e, selector = self.e, self.k.vector(end.args[0])
        labels = [e.name("case") for _ in end.targets]
        cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels[:-1]))
        e.do(f"switch i32 {selector}, label %{labels[-1]} [ {cases} ]")
        for label, target in zip(labels, end.targets, strict=True):
            e.label(label)
            self.go(block, target, self._parked(block))

    def chosen(self, value: Value, offset: int) -> tuple[str, str]:
        """The executing lanes in a mask, and those outside it."""
        e, word = self.e, self.word
        em = e.op(f"load {word}, ptr %em")
        lanes = self.k.lanes(value)
        if lanes.full and offset == 0 and value.width >= self.k.width:
            return em, "0"
        size = max(self.k.width, value.width + offset)
        bits = regs.bits_of_mask(e, lanes.get(), value.width, size, offset)
        if size > self.k.width:
            bits = e.op(f"trunc i{size} {bits} to {word}")
        inside = e.op(f"and {word} {em}, {bits}")
        return inside, e.op(f"xor {word} {em}, {inside}")

    def _diverge(self, block: int, end: Diverge) -> None:
        then, other = end.targets
        parked = self._parked(block)
        if then == other:
            self.go(block, then, parked)
            return
        inside, outside = self.chosen(end.args[0], end.offset)
        low, high = min(then, other), max(then, other)
        stay, leave = (inside, outside) if then == low else (outside, inside)
        e, word = self.e, self.word
        self.wait(high, leave)
        e.do(f"store {word} {stay}, ptr %em")
        some, on, none = e.op(f"icmp ne {word} {stay}, 0"), e.name("on"), e.name("none")
        e.do(f"br i1 {some}, label %{on}, label %{none}")
        e.label(none)
        self.dispatch(parked | {high})
        e.label(on)
        self.go(block, low, parked | {high})

    def _ret(self, block: int, end: Ret) -> None:
        e, word, parked = self.e, self.word, self._parked(block)
        leaving, rest = self.chosen(end.args[0], end.offset)
        if self.keeps_alive:
            self._end_lanes(leaving)
        if rest != "0":
            e.do(f"store {word} {rest}, ptr %em")
            some, on, none = e.op(f"icmp ne {word} {rest}, 0"), e.name("on"), e.name("none")
            e.do(f"br i1 {some}, label %{on}, label %{none}")
            e.label(on)
            self.go(block, end.targets[0], parked)
            e.label(none)
        else:
            e.do(f"store {word} 0, ptr %em")
        self.dispatch(parked, empty="finished")

    def _end_lanes(self, leaving: str) -> None:
        """Lanes that leave the outermost frame are no longer alive."""
        e, word = self.e, self.word
        depth = e.op(
            f"load i64, ptr {e.op(f'getelementptr i64, ptr %rec, i64 {int(Record.DEPTH)}')}"
        )
        outermost = e.op(f"icmp eq i64 {depth}, 0")
        ended = e.op(f"select i1 {outermost}, {word} {leaving}, {word} 0")
        alive = e.op(f"load {word}, ptr %alive")
        kept = e.op(f"and {word} {alive}, {e.op(f'xor {word} {ended}, -1')}")
        e.do(f"store {word} {kept}, ptr %alive")

    def _barrier(self, block: int, end: Barrier) -> None:
        k, e = self.k, self.e
        site = k.site(end.inst, "barrier")
        if end.targets[0] <= block:
            self.spend(block, end.targets[0])
        if self._parked(block) or self.calls.exist:
            alive, em = self._alive(block), e.op(f"load {self.word}, ptr %em")
            waiting = e.op(f"xor {self.word} {alive}, {em}")
            some, bad, on = e.op(f"icmp ne {self.word} {waiting}, 0"), e.name("bad"), e.name("on")
            e.do(f"br i1 {some}, label %{bad}, label %{on}, !prof !0")
            e.label(bad)
            self._note_waiting(block)
            k.fault(FaultKind.DIVERGENT, site, self.lanes(), self.lanes(alive))
            e.label(on)
        self._meet(block, end, site)

    def _note_waiting(self, block: int) -> None:
        """Leave the masks of the lanes that wait at each block in the record, for the diagnosis."""
        for n, j in enumerate(sorted(self.k.flow.waiting)):
            lanes = "0"
            if j in self._parked(block):
                lanes = self.lanes(self.e.op(f"load {self.word}, ptr {self.park(j)}"))
            place = self.e.op(f"getelementptr i8, ptr %rec, i64 {self.waiting + 8 * n}")
            self.e.do(f"store i64 {lanes}, ptr {place}")

    def _meet(self, block: int, end: Barrier, site: int) -> None:
        """Signal, wait, or both; the driver lets waiting threads go on."""
        kind, (target,) = end.kind, end.targets
        if self.resume.in_rounds and kind == "signal":  # its wait comes at once
            self.go(block, target, self._parked(block))
            return
        if self.resume.in_rounds:
            self.resume.save(target, ThreadOutcome.BARRIER, site=site)
            return
        if kind == "pair":
            named.pair(self, site)
        elif kind != "wait":
            if end.args:
                named.signal(self, end, site)
            else:
                self.increment(Record.ARRIVED)
        if kind == "signal":
            self.go(block, target, self._parked(block))
            return
        if not end.args and kind != "pair":
            self.increment(Record.PASSED)
        self._record(Record.PLACE, site)
        self._record(Record.SYNC, int(kind == "sync"))
        if self.has_named:
            self._record(Record.NAME, named.name(self, end))
        self.resume.save(target, ThreadOutcome.BARRIER)

    def _record(self, word: int, value: int | str) -> None:
        place = self.e.op(f"getelementptr i64, ptr %rec, i64 {int(word)}")
        self.e.do(f"store i64 {value}, ptr {place}")

    def increment(self, word: int) -> None:
        """Add one to a word of the record."""
        place = self.e.op(f"getelementptr i64, ptr %rec, i64 {int(word)}")
        old = self.e.op(f"load i64, ptr {place}")
        self.e.do(f"store i64 {self.e.op(f'add i64 {old}, 1')}, ptr {place}")

    def _trap(self, block: int, end: Trap) -> None:
        site = self.k.site(end.inst, f"trap {end.reason}")
        self.k.fault(FaultKind.TRAP, site, self.lanes())

    def _call(self, block: int, end: AnyCall) -> None:
        self.calls.call(block, end)

    _call_indirect = _call

    def finish(self) -> None:
        """The end of a frame or of the thread."""
        if self.shares:
            self.e.label("dispatch")
            here = self.k.flow.waiting & self.k.flow.parked.keys()  # in this version
            self._first_of(sorted(here), "finished")
        for target in sorted({save.target for save in self.resume.saves if save.others}):
            if target in self.k.flow.stuck:
                self.e.label(f"stuck{target}")
                ops = self.k.function.blocks[target].ops
                site = self.k.site(ops[0].inst if ops else -1, _STUCK)
                self.k.fault(FaultKind.TRAP, site, self.lanes())
        self.calls.finish()
