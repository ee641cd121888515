"""Calls: a frame in the thread's record holds what waits while the callee runs.

A frame is a return number, a mask for each block where lanes can wait, and the bytes of the roots
that the call puts aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.driver.ways import Ways
from eumu.exec.jit.llvm.layout import FaultKind, Record, ThreadOutcome
from eumu.ir import Function, Root, RootKind
from eumu.ir.operations.ends import AnyCall, CallIndirect

CALL_DEPTH: Final = 1024


def calls_of(function: Function) -> Iterator[AnyCall]:
    return (b.end for b in function.blocks if isinstance(b.end, AnyCall))


def saved_roots(function: Function) -> frozenset[str]:
    """Names of the roots that some call puts aside."""
    return frozenset(root.name for end in calls_of(function) for root in end.saves)


def _frame_words(function: Function, flow: Flow) -> int:
    room = max(sum(map(_words, end.saves)) for end in calls_of(function))
    return 1 + len(flow.waiting) + room


def _words(root: Root) -> int:
    """Quadwords that a root takes in a frame."""
    return 1 if root.kind is RootKind.FLAG else -(-root.size // 8)


def frames_size(function: Function, flow: Flow) -> int:
    """Bytes of a thread's record that call frames take."""
    if not any(calls_of(function)):
        return 0
    return 8 * CALL_DEPTH * _frame_words(function, flow)


class Calls:
    """Emits the ends of blocks that call, and the returns."""

    def __init__(self, ends: Ways) -> None:
        self.ends, self.k, self.e = ends, ends.k, ends.e
        self.returns: list[int] = []  # call blocks, in the order of their return numbers
        self.exist = any(calls_of(ends.k.function))
        self._words = _frame_words(self.k.function, self.k.flow) if self.exist else 0

    def call(self, block: int, end: AnyCall) -> None:
        """Lanes of the mask enter a frame of the only callee, or of the one with the address."""
        e, word, ends = self.e, self.ends.word, self.ends
        after = end.targets[-1]
        inside, _ = ends.chosen(end.args[0], end.offset)
        some, on, none = e.op(f"icmp ne {word} {inside}, 0"), e.name("on"), e.name("none")
        e.do(f"br i1 {some}, label %{on}, label %{none}")
        e.label(none)
        ends.go(block, after, self.k.flow.parked[block])
        e.label(on)
        labels, address = [e.name("callee") for _ in end.targets[:-1]], ""
        if isinstance(end, CallIndirect):
            address = e.op(f"trunc i64 {self.k.vector(end.args[1])} to i32")
            self._check_address(end, address, inside)
        ends.wait(after)
        depth = self._deeper(end)
        self._save_frame(depth, block, end)
        e.do(f"store {word} {inside}, ptr %em")
        if isinstance(end, CallIndirect) and labels:
            rows = zip(end.addresses, labels, strict=True)
            self._switch(address, labels[0], list(rows))
        elif labels:
            e.do(f"br label %{labels[0]}")
        for label, callee in zip(labels, end.targets[:-1], strict=True):
            e.label(label)
            ends.spend(block, callee)
            e.do(f"br label %b{callee}")
        if not labels:
            e.do("unreachable")

    def _switch(self, address: str, default: str, rows: list[tuple[int, str]]) -> None:
        cases = " ".join(f"i32 {value}, label %{label}" for value, label in rows)
        self.e.do(f"switch i32 {address}, label %{default} [ {cases} ]")

    def _check_address(self, end: CallIndirect, address: str, inside: str) -> None:
        """A fault where no function has the address."""
        k, e = self.k, self.e
        bad, on = e.name("nowhere"), e.name("known")
        self._switch(address, bad, [(value, on) for value in end.addresses])
        e.label(bad)
        site = k.site(end.inst, "call")
        number = e.op(f"zext i32 {address} to i64")
        k.fault(FaultKind.NO_FUNCTION, site, self.ends.lanes(inside), number)
        e.label(on)

    def _deeper(self, end: AnyCall) -> str:
        """Count a frame; the old depth."""
        k, e = self.k, self.e
        place = e.op(f"getelementptr i64, ptr %rec, i64 {int(Record.DEPTH)}")
        depth = e.op(f"load i64, ptr {place}")
        full, bad, on = e.op(f"icmp uge i64 {depth}, {CALL_DEPTH}"), e.name("bad"), e.name("on")
        e.do(f"br i1 {full}, label %{bad}, label %{on}, !prof !0")
        e.label(bad)
        k.fault(FaultKind.CALLS, k.site(end.inst, "call"), self.ends.lanes())
        e.label(on)
        e.do(f"store i64 {e.op(f'add i64 {depth}, 1')}, ptr {place}")
        return depth

    # ---- frames

    def _frame(self, depth: str) -> str:
        """The address of a frame."""
        index = self.e.op(f"mul i64 {depth}, {self._words}")
        start = self.e.op(f"add i64 {index}, {int(Record.FRAMES)}")
        return self.e.op(f"getelementptr i64, ptr %rec, i64 {start}")

    def _save_frame(self, depth: str, block: int, end: AnyCall) -> None:
        e, word, frame = self.e, self.ends.word, self._frame(depth)
        self.returns.append(block)
        e.do(f"store i64 {len(self.returns) - 1}, ptr {frame}")
        for n, j in enumerate(self._waiting(block, end)):
            place = e.op(f"getelementptr i64, ptr {frame}, i64 {n + 1}")
            e.do(f"store {word} {e.op(f'load {word}, ptr {self.ends.park(j)}')}, ptr {place}")
            e.do(f"store {word} 0, ptr {self.ends.park(j)}")
        for kind, variable, place in self._saved(frame, end):
            self.k.registers.use(variable)
            e.do(f"store {kind} {e.op(f'load {kind}, ptr {variable}')}, ptr {place}, align 1")
        self._copy_roots(frame, end, back=False)

    def _restore_frame(self, frame: str, block: int, end: AnyCall) -> None:
        e, word, waiting = self.e, self.ends.word, self._waiting(block, end)
        for m, j in enumerate(waiting):
            slot = e.op(f"getelementptr i64, ptr {frame}, i64 {m + 1}")
            e.do(f"store {word} {e.op(f'load {word}, ptr {slot}')}, ptr {self.ends.park(j)}")
        for kind, variable, place in self._saved(frame, end):
            value = e.op(f"load {kind}, ptr {place}, align 1")
            e.do(f"store {kind} {value}, ptr {variable}")
        self._copy_roots(frame, end, back=True)
        self.ends.dispatch(waiting)

    def _waiting(self, block: int, end: AnyCall) -> list[int]:
        return sorted(self.k.flow.parked[block] | {end.targets[-1]})

    def _places(self, frame: str, end: AnyCall) -> Iterator[tuple[Root, str]]:
        """The roots that the call puts aside, and where."""
        start = 8 * (1 + len(self.k.flow.waiting))
        for root in end.saves:
            yield root, self.e.op(f"getelementptr i8, ptr {frame}, i64 {start}")
            start += 8 * _words(root)

    def _saved(self, frame: str, end: AnyCall) -> Iterator[tuple[str, str, str]]:
        """LLVM type, variable and place of every part of those roots."""
        registers = self.k.registers
        for root, place in self._places(frame, end):
            if root.name in registers.flags:
                yield f"i{root.size}", registers.flags[root.name], place
            for part in registers.parts.get(root.name, ()):
                where = self.e.op(f"getelementptr i8, ptr {place}, i64 {part.start}")
                yield part.llvm, part.variable, where

    def _copy_roots(self, frame: str, end: AnyCall, *, back: bool) -> None:
        """The same for roots that live in the record."""
        registers = self.k.registers
        for root, place in self._places(frame, end):
            if root.name in registers.memory:
                here = regs.byte_pointer(self.e, registers, root, 0)
                regs.copy_bytes(self.e, *((here, place) if back else (place, here)), root.size)

    def finish(self) -> None:
        """The end of a frame: back to its caller, or the end of the thread."""
        k, e = self.k, self.e
        e.label("finished")
        if not self.returns:
            k.leave(ThreadOutcome.END)
            return
        place = e.op(f"getelementptr i64, ptr %rec, i64 {int(Record.DEPTH)}")
        depth = e.op(f"load i64, ptr {place}")
        outermost = e.op(f"icmp eq i64 {depth}, 0")
        e.do(f"br i1 {outermost}, label %thread.end, label %frame.end")
        e.label("thread.end")
        k.leave(ThreadOutcome.END)
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
            assert isinstance(end, AnyCall)
            self._restore_frame(frame, block, end)
