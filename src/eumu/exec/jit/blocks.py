"""Terminators: which block runs next, with which lanes.

``%em`` holds the executing lanes, ``%park<n>`` those that wait at block n; both are integers with a
bit a lane.  A jump past blocks where lanes may wait parks its lanes and resumes at the lowest one.
"""

from __future__ import annotations

from collections.abc import Iterable

from eumu.exec.jit import registers as regs
from eumu.exec.jit.flow import Flow
from eumu.exec.jit.kernel import Kernel
from eumu.exec.jit.layout import FaultKind, Outcome, Record
from eumu.exec.jit.spill import Resume
from eumu.ir import Function, Terminator, Value

CALL_DEPTH = 1024


def has_calls(function: Function) -> bool:
    ends = [b.end for b in function.blocks]
    return any(end is not None and end.name == "call" for end in ends)


def frames_size(function: Function, flow: Flow) -> int:
    """Bytes of a thread's record that call frames take."""
    return 8 * CALL_DEPTH * (1 + len(flow.waiting)) if has_calls(function) else 0


class Ends:
    """Emits the end of every block of a kernel."""

    def __init__(self, k: Kernel, resume: Resume) -> None:
        self.k, self.e, self.resume = k, k.e, resume
        self.word = f"i{k.width}"
        self.returns: list[int] = []  # call blocks, in the order of their return numbers
        self.has_calls = has_calls(k.function)

    def park(self, block: int) -> str:
        return f"%park{block}"

    def declare(self) -> None:
        """Variables of the masks."""
        entry, word = self.e.entry, self.word
        entry += [f"  %em = alloca {word}", "  %count = alloca i64", "  %limit = alloca i64"]
        entry.append("  %fuel = alloca i64")
        if self.has_calls:
            entry.append(f"  %alive = alloca {word}")
            self.k.registers.variables["%alive"] = word
        for block in sorted(self.k.flow.waiting):
            entry.append(f"  {self.park(block)} = alloca {word}")
            entry.append(f"  store {word} 0, ptr {self.park(block)}")

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

    def end(self, block: int, end: Terminator, instructions: int) -> None:
        """Count the block's instructions, then leave it."""
        e = self.e
        if instructions:
            count = e.op("load i64, ptr %count")
            e.do(f"store i64 {e.op(f'add i64 {count}, {instructions}')}, ptr %count")
        getattr(self, f"_{end.name}")(block, end)

    # ---- moving all executing lanes

    def go(self, block: int, target: int, parked: frozenset[int]) -> None:
        """All executing lanes move to `target`."""
        if target <= block:
            self._spend(block, target)
        if any(k < target for k in parked):
            self._wait(target)
            self.dispatch(parked | {target})
        else:
            self.e.do(f"br label %b{target}")

    def _wait(self, target: int, lanes: str | None = None) -> None:
        """Park the executing lanes (none execute then), or the given ones."""
        e, word = self.e, self.word
        em = lanes if lanes is not None else e.op(f"load {word}, ptr %em")
        old = e.op(f"load {word}, ptr {self.park(target)}")
        e.do(f"store {word} {e.op(f'or {word} {old}, {em}')}, ptr {self.park(target)}")
        if lanes is None:
            e.do(f"store {word} 0, ptr %em")

    def dispatch(self, blocks: Iterable[int], *, empty: str | None = None) -> None:
        """Run the lowest block with waiting lanes; go to label `empty` if there can be none."""
        e, word, order = self.e, self.word, sorted(blocks)
        for n, block in enumerate(order):
            if n == len(order) - 1 and empty is None:
                e.do(f"br label %b{block}")
                return
            here = e.op(f"load {word}, ptr {self.park(block)}")
            some, other = e.op(f"icmp ne {word} {here}, 0"), e.name("else")
            e.do(f"br i1 {some}, label %b{block}, label %{other}")
            e.label(other)
        e.do(f"br label %{empty}")

    def _spend(self, block: int, target: int) -> None:
        """A back-edge: check the instruction budget."""
        k, e = self.k, self.e
        count = e.op("load i64, ptr %count")
        name = "%limit" if target in self.resume.headers else "%fuel"
        limit = e.op(f"load i64, ptr {name}")
        over, out, on = e.op(f"icmp ugt i64 {count}, {limit}"), e.name("over"), e.name("on")
        e.do(f"br i1 {over}, label %{out}, label %{on}, !prof !0")
        e.label(out)
        end = k.function.blocks[block].end
        site = k.site(end.inst if end else -1, "fuel")
        if target in self.resume.headers:
            self._yield(block, target, site)
        else:
            k.fault(FaultKind.FUEL, site, self._lanes(self._alive(block)))
        e.label(on)

    def _yield(self, block: int, target: int, site: int) -> None:
        """Out of the slice: give other threads a turn, unless the whole budget is used up."""
        k, e = self.k, self.e
        count, fuel = e.op("load i64, ptr %count"), e.op("load i64, ptr %fuel")
        over, out, rest = e.op(f"icmp ugt i64 {count}, {fuel}"), e.name("spent"), e.name("yield")
        e.do(f"br i1 {over}, label %{out}, label %{rest}")
        e.label(out)
        k.fault(FaultKind.FUEL, site, self._lanes(self._alive(block)))
        e.label(rest)
        self.resume.save(target, Outcome.YIELD)

    def _alive(self, block: int) -> str:
        """The lanes of the thread that have not ended."""
        e, word = self.e, self.word
        if self.has_calls:
            return e.op(f"load {word}, ptr %alive")
        alive = e.op(f"load {word}, ptr %em")
        for j in sorted(self._parked(block)):
            here = e.op(f"load {word}, ptr {self.park(j)}")
            alive = e.op(f"or {word} {alive}, {here}")
        return alive

    def _lanes(self, bits: str | None = None) -> str:
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
            self.go(block, target, self._parked(block))

    def _switch(self, block: int, end: Terminator) -> None:
        e, selector = self.e, self.k.vector(end.args[0])
        labels = [e.name("case") for _ in end.targets]
        cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels[:-1]))
        e.do(f"switch i32 {selector}, label %{labels[-1]} [ {cases} ]")
        for label, target in zip(labels, end.targets, strict=True):
            e.label(label)
            self.go(block, target, self._parked(block))

    def _chosen(self, value: Value, offset: int) -> tuple[str, str]:
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

    def _diverge(self, block: int, end: Terminator) -> None:
        then, other = end.targets
        parked = self._parked(block)
        if then == other:
            self.go(block, then, parked)
            return
        inside, outside = self._chosen(end.args[0], end.attrs["offset"])
        low, high = min(then, other), max(then, other)
        stay, leave = (inside, outside) if then == low else (outside, inside)
        e, word = self.e, self.word
        self._wait(high, leave)
        e.do(f"store {word} {stay}, ptr %em")
        some, on, none = e.op(f"icmp ne {word} {stay}, 0"), e.name("on"), e.name("none")
        e.do(f"br i1 {some}, label %{on}, label %{none}")
        e.label(none)
        self.dispatch(parked | {high})
        e.label(on)
        self.go(block, low, parked | {high})

    def _ret(self, block: int, end: Terminator) -> None:
        e, word, parked = self.e, self.word, self._parked(block)
        leaving, rest = self._chosen(end.args[0], end.attrs["offset"])
        if self.has_calls:
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

    def _barrier(self, block: int, end: Terminator) -> None:
        k, e = self.k, self.e
        site = k.site(end.inst, "barrier")
        if end.targets[0] <= block:
            self._spend(block, end.targets[0])
        if self._parked(block) or self.has_calls:
            alive, em = self._alive(block), e.op(f"load {self.word}, ptr %em")
            waiting = e.op(f"xor {self.word} {alive}, {em}")
            some, bad, on = e.op(f"icmp ne {self.word} {waiting}, 0"), e.name("bad"), e.name("on")
            e.do(f"br i1 {some}, label %{bad}, label %{on}, !prof !0")
            e.label(bad)
            k.fault(FaultKind.DIVERGENT, site, self._lanes(), self._lanes(alive))
            e.label(on)
        self._meet(block, end, site)

    def _meet(self, block: int, end: Terminator, site: int) -> None:
        """Signal, wait, or both; the driver lets waiting threads go on."""
        kind, (target,) = end.attrs["kind"], end.targets
        if kind != "wait":
            self._increment(Record.ARRIVED)
        if kind == "signal":
            self.go(block, target, self._parked(block))
            return
        self._increment(Record.PASSED)
        self._record(Record.PLACE, site)
        self._record(Record.SYNC, int(kind == "sync"))
        self.resume.save(target, Outcome.BARRIER)

    def _record(self, word: int, value: int) -> None:
        place = self.e.op(f"getelementptr i64, ptr %rec, i64 {int(word)}")
        self.e.do(f"store i64 {value}, ptr {place}")

    def _increment(self, word: int) -> None:
        place = self.e.op(f"getelementptr i64, ptr %rec, i64 {int(word)}")
        old = self.e.op(f"load i64, ptr {place}")
        self.e.do(f"store i64 {self.e.op(f'add i64 {old}, 1')}, ptr {place}")

    def _trap(self, block: int, end: Terminator) -> None:
        site = self.k.site(end.inst, f"trap {end.attrs['reason']}")
        self.k.fault(FaultKind.TRAP, site, self._lanes())

    # ---- calls

    def _call(self, block: int, end: Terminator) -> None:
        e, word = self.e, self.word
        callee, after = end.targets
        inside, _ = self._chosen(end.args[0], end.attrs["offset"])
        some, on, none = e.op(f"icmp ne {word} {inside}, 0"), e.name("on"), e.name("none")
        e.do(f"br i1 {some}, label %{on}, label %{none}")
        e.label(none)
        self.go(block, after, self._parked(block))
        e.label(on)
        self._wait(after)
        depth = self._deeper(block, end)
        self._save_frame(depth, sorted(self._parked(block) | {after}), block)
        e.do(f"store {word} {inside}, ptr %em")
        if callee <= block:
            self._spend(block, callee)
        e.do(f"br label %b{callee}")

    def _deeper(self, block: int, end: Terminator) -> str:
        """Count a frame; the old depth."""
        k, e = self.k, self.e
        place = e.op(f"getelementptr i64, ptr %rec, i64 {int(Record.DEPTH)}")
        depth = e.op(f"load i64, ptr {place}")
        full, bad, on = e.op(f"icmp uge i64 {depth}, {CALL_DEPTH}"), e.name("bad"), e.name("on")
        e.do(f"br i1 {full}, label %{bad}, label %{on}, !prof !0")
        e.label(bad)
        k.fault(FaultKind.CALLS, k.site(end.inst, "call"), self._lanes())
        e.label(on)
        e.do(f"store i64 {e.op(f'add i64 {depth}, 1')}, ptr {place}")
        return depth

    def _frame(self, depth: str) -> str:
        """The address of a frame: the return number, then a mask for each waiting block."""
        e, words = self.e, 1 + len(self.k.flow.waiting)
        index = e.op(f"mul i64 {depth}, {words}")
        start = e.op(f"add i64 {index}, {int(Record.FRAMES)}")
        return e.op(f"getelementptr i64, ptr %rec, i64 {start}")

    def _save_frame(self, depth: str, waiting: list[int], block: int) -> None:
        e, word, frame = self.e, self.word, self._frame(depth)
        if block not in self.returns:
            self.returns.append(block)
        e.do(f"store i64 {self.returns.index(block)}, ptr {frame}")
        for n, j in enumerate(waiting):
            place = e.op(f"getelementptr i64, ptr {frame}, i64 {n + 1}")
            e.do(f"store {word} {e.op(f'load {word}, ptr {self.park(j)}')}, ptr {place}")
            e.do(f"store {word} 0, ptr {self.park(j)}")

    def finish(self) -> None:
        """The end of a frame: back to its caller, or the end of the thread."""
        k, e, word = self.k, self.e, self.word
        e.label("finished")
        if not self.returns:
            k.leave(Outcome.END)
            return
        place = e.op(f"getelementptr i64, ptr %rec, i64 {int(Record.DEPTH)}")
        depth = e.op(f"load i64, ptr {place}")
        outermost = e.op(f"icmp eq i64 {depth}, 0")
        e.do(f"br i1 {outermost}, label %thread.end, label %frame.end")
        e.label("thread.end")
        k.leave(Outcome.END)
        e.label("frame.end")
        less = e.op(f"sub i64 {depth}, 1")
        e.do(f"store i64 {less}, ptr {place}")
        frame = self._frame(less)
        number = e.op(f"load i64, ptr {frame}")
        cases = " ".join(f"i64 {n}, label %return{n}" for n in range(len(self.returns)))
        e.do(f"switch i64 {number}, label %return0 [ {cases} ]")
        for n, block in enumerate(self.returns):
            e.label(f"return{n}")
            end = k.function.blocks[block].end
            assert end is not None
            waiting = sorted(k.flow.parked[block] | {end.targets[1]})
            for m, j in enumerate(waiting):
                slot = e.op(f"getelementptr i64, ptr {frame}, i64 {m + 1}")
                e.do(f"store {word} {e.op(f'load {word}, ptr {slot}')}, ptr {self.park(j)}")
            self.dispatch(waiting)
