"""The operation `send`: messages are made when their descriptors are first met."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eumu.errors import ArrayPlace, Fault, Finding, Unsupported
from eumu.exec.interp.memory import AddressSpaces
from eumu.exec.interp.site import STEPS, BlockSite
from eumu.exec.interp.values import ALL, Compiled, Lanes, Mask, Run, Slots, Step, full
from eumu.exec.state import ThreadState, row_bytes
from eumu.ir import Block, Op, Root, RootKind, Space
from eumu.ir.operations.memory import Atomic
from eumu.ir.operations.messages import Require, Send
from eumu.records import dataclass

_STRETCHES = "src0", "src1"
_ANSWER, _MASK = "dst", "mask"
_KEPT = 256  # messages of one operation


# Turns a block into steps; it knows this operation.
Maker = Callable[[Block, BlockSite, AddressSpaces], Compiled]


class _Inside(BlockSite):
    """A message, which faults where the operation stands."""

    def __init__(self, outer: BlockSite, op: Op, state: ThreadState, note: str) -> None:
        super().__init__(outer.admitted, state)
        self.outer, self.note = outer, note
        self.offset = outer.first_lane(op)

    def first_lane(self, op: Op) -> int:
        return self.offset

    def fault(
        self,
        reason: str,
        inst: int,
        thread: int,
        lanes: Sequence[int] = (),
        address: int | None = None,
        notes: Sequence[str] = (),
        *,
        code: str,
        memory: ArrayPlace | None = None,
        related: tuple[Finding, ...] = (),
    ) -> Fault:
        arguments = reason, inst, thread, lanes, address, (*notes, self.note)
        return self.outer.fault(*arguments, code=code, memory=memory, related=related)


@dataclass(frozen=True, slots=True)
class _Message:
    """What a message does: steps, and how many values they hold."""

    site: _Inside
    steps: list[Step]
    slots: int

    def run(self, run: Run) -> None:
        self.site.first_group = self.site.outer.first_group
        values: list[object] = [None] * self.slots
        for step in self.steps:
            step(values, run)


class Sends:
    """The messages of one operation, in a state of its own beside the threads'."""

    def __init__(self, op: Send, site: BlockSite, make: Maker, *, is_alone: bool = True) -> None:
        """`is_alone` unless processors run other groups meanwhile, beside which nothing here is
        atomic."""
        self.op, self.site, self.make, self.is_alone = op, site, make, is_alone
        self.form = op.form
        sizes = dict(zip(_STRETCHES, self.form.stretches, strict=False))
        sizes |= {_ANSWER: self.form.answer} if self.form.answer else {}
        threads = site.state.threads
        roots: dict[str, Lanes] = {
            name: np.zeros((threads, row_bytes(Root(name, RootKind.GRF, size))), np.uint8)
            for name, size in sizes.items()
        }
        self.names, self.sizes = tuple(sizes), sizes
        roots[_MASK] = np.zeros((threads, op.args[3].width), bool)
        self.state = replace(site.state, roots=roots)
        self._known: dict[tuple[int, int], _Message] = {}

    def answer(
        self,
        run: Run,
        ex_desc: Lanes,
        desc: Lanes,
        enabled: Mask,
        mask: Mask,
        registers: Sequence[Lanes],
    ) -> Lanes | None:
        """Do the messages of the threads that run; all arrays are [threads, lanes]."""
        threads, roots, on = run.threads, self.state.roots, enabled[:, 0]
        roots[_MASK][threads] = mask
        for name, x in zip(self.names, registers, strict=True):
            roots[name][threads, : self.sizes[name]] = np.ascontiguousarray(x).view(np.uint8)
        for pair, own in _together(threads[on], ex_desc[on, 0], desc[on, 0]):
            self._message(*pair, int(own[0])).run(Run(0, own, len(own), ALL))
        size = self.sizes.get(_ANSWER)
        if size is None:
            return None
        return np.ascontiguousarray(roots[_ANSWER][threads, :size]).view(np.uint32)

    def _message(self, ex_desc: int, desc: int, thread: int) -> _Message:
        """What a pair of descriptors asks for; a fault of the thread if that is nothing."""
        kept = self._known.get((ex_desc, desc))
        if kept is not None:
            return kept
        note = self.form.describe(ex_desc, desc)
        try:
            function = self.form.function(ex_desc, desc)
        except Unsupported as error:
            raise self.site.fault(
                *(str(error), self.op.inst, thread, self._lanes(thread), None, (note,)),
                code="message",
            ) from error
        (block,) = function.blocks
        if not self.is_alone and any(_is_shared(op) for op in block.ops):
            what = (
                "an atomic message by a descriptor that is not what it seemed; set EUMU_WORKERS=1"
            )
            raise Unsupported(what, span=self.site.span(self.op.inst))
        ops = [replace(op, inst=self.op.inst) for op in block.ops]
        inside = _Inside(self.site, self.op, self.state, note)
        made = self.make(Block(block.label, ops, block.end), inside, AddressSpaces(inside))
        if len(self._known) == _KEPT:
            self._known.clear()
        message = self._known[ex_desc, desc] = _Message(inside, made.steps, made.slots)
        return message

    def _lanes(self, thread: int) -> tuple[int, ...]:
        return self.site.lane_numbers(self.op, np.flatnonzero(self.state.roots[_MASK][thread]))


def _is_shared(op: Op) -> bool:
    """Whether an operation is atomic beside other groups."""
    return isinstance(op, Atomic) and op.space in (Space.FLAT, Space.SURFACE)


def _together(
    threads: NDArray[np.intp], ex_desc: Lanes, desc: Lanes
) -> Iterator[tuple[tuple[int, int], NDArray[np.intp]]]:
    """Both descriptors, and the threads that have them."""
    if len(threads) == 1:
        yield (int(ex_desc[0]), int(desc[0])), threads
        return
    pairs = ex_desc.astype(np.uint64) << np.uint64(32) | desc
    _, first = np.unique(pairs, return_index=True)
    for row in sorted(map(int, first)):
        yield (int(ex_desc[row]), int(desc[row])), threads[pairs == pairs[row]]


def send(op: Send, site: BlockSite, make: Maker) -> Step:
    arguments, results = site.slots(op.args), site.slots(op.results)
    widths = [value.width for value in op.args]
    sends: list[Sends] = []  # made when it is first met

    def step(v: Slots, run: Run) -> None:
        if not sends:
            sends.append(Sends(op, site, make))
        operands = (full(v[k], run, w) for k, w in zip(arguments, widths, strict=True))
        ex_desc, desc, enabled, mask, *registers = operands
        answer = sends[0].answer(run, ex_desc, desc, enabled, mask, registers)
        for r in results:
            v[r] = answer

    return step


@STEPS.on(Require)
def require(site: BlockSite, op: Require) -> Step:
    (m,), reason = site.slots(op.args), op.reason

    def step(v: Slots, run: Run) -> None:
        wrong = np.flatnonzero(~full(v[m], run, 1)[:, 0])
        if len(wrong):
            raise site.fault(reason, op.inst, int(run.threads[wrong[0]]), code="message")

    return step
