"""Requests to the host: messages, faults, findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from eumu.ir.function import Findings, Function, Op, Value
from eumu.ir.operations.memory import Space
from eumu.ir.operations.row import ANY, Emitter, operation
from eumu.records import dataclass
from eumu.types import UD, Type


class Form(Protocol):
    """The form of the messages of a `send`: frozen data whose text contains all of it.

    `stretches` are the sizes in bytes of each stretch of registers that is sent; `answer` is the
    size of the registers of the answer, 0 for none.
    """

    @property
    def stretches(self) -> tuple[int, ...]: ...

    @property
    def answer(self) -> int: ...

    def function(self, ex_desc: int, desc: int) -> Function:
        """One block with the GRF roots `src0`, `src1` and `dst` and the flag root `mask`.

        Raises `Unsupported` for a message that is not modelled or does not fit.
        """
        ...

    def describe(self, ex_desc: int, desc: int) -> str:
        """Both descriptors, decoded, as text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Op):
    """A request; `record` is frozen data whose text contains all of it."""

    record: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Send(Op):
    form: Form

    def problems(self, function: Function) -> Findings:
        answer = [self.form.answer] if self.form.answer else []
        sent = [*self.form.stretches, *answer]
        for values, sizes in ((self.args[4:], sent), (self.results, answer)):
            widths = [4 * value.width for value in values]
            if widths != sizes:
                yield f"{widths} bytes where its form has {sizes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Require(Op):
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Op):
    """A finding; `space` is the space of its addresses, if it has any."""

    code: str
    what: str
    offset: int
    space: Space | None = None


class MessageEmitter(Emitter):
    @operation("message", Message, ANY, "m* y*.. -> y*..", effect=True)
    def message(
        self, record: object, mask: Value, data: Sequence[Value], shape: Sequence[tuple[Type, int]]
    ) -> tuple[Value, ...]:
        """A request that the host answers (eumu.exec.host); `shape`: each result's type, width."""
        results = tuple(value for type, width in shape for value in self.fresh(type, width))
        return self.append(Message("message", (mask, *data), results, self.inst, record=record))

    @operation("send", Send, frozenset({UD}), "ud1 ud1 m1 m* x*.. -> x*..", effect=True)
    def send(
        self,
        form: Form,
        ex_desc: Value,
        desc: Value,
        enabled: Value,
        mask: Value,
        stretches: Sequence[Value],
        answer: Value | None,
    ) -> Value | None:
        """Send a message whose descriptors are known at run time, for the lanes of the mask.

        `stretches` are one or two stretches of registers to send, `answer` the old contents of the
        registers of the answer; the result is their new contents.  Nothing is sent if `enabled` is
        clear.  `form` makes a function from two descriptors.
        """
        old = () if answer is None else (answer,)
        args = (ex_desc, desc, enabled, mask, *stretches, *old)
        results = tuple(value for x in old for value in self.fresh(UD, x.width))
        sent = self.append(Send("send", args, results, self.inst, form=form))
        return sent[0] if sent else None

    @operation("require", Require, ANY, "m1 ->", effect=True)
    def require(self, lane: Value, reason: str) -> None:
        """Fault with `reason` unless the lane is set."""
        self.append(Require("require", (lane,), (), self.inst, reason=reason))

    @operation("report", Report, ANY, "m y? s1? ->", effect=True)
    def report(
        self,
        what: str,
        mask: Value,
        offset: int,
        *,
        code: str = "undefined",
        space: Space | None = None,
        at: Sequence[Value] = (),
    ) -> None:
        """Record a finding for the lanes of the mask; the run continues.

        `code` is the mistake (see eumu.exec.findings) and `what` the thing that has it.  Mask lane
        k is lane offset+k of the thread.  `at` are addresses in `space`, and the surface index if
        the space has one: the finding names the memory of the first lane.
        """
        args = (mask, *at)
        op = Report("report", args, (), self.inst, code=code, what=what, offset=offset, space=space)
        self.append(op)
