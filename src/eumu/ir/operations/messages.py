"""What is asked of the host: messages, faults, findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from eumu.ir.function import Findings, Function, Op, Value
from eumu.ir.operations.memory import Space
from eumu.ir.operations.row import ANY, Emitter, operation
from eumu.types import UD, Type


class Form(Protocol):
    """How the messages of a `send` look; frozen data whose text says all of it.

    `stretches` are the bytes of each stretch of registers that is sent, `answer` those of the
    registers of the answer, 0 for none.
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
        """Both descriptors, decoded, in words."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Op):
    """`record` is frozen data whose text says all of the request."""

    record: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Send(Op):
    form: Form

    def problems(self, function: Function) -> Findings:
        answer = [self.form.answer] if self.form.answer else []
        sent = [*self.form.stretches, *answer]
        for values, sizes in ((self.args[4:], sent), (self.results, answer)):
            found = [4 * value.width for value in values]
            if found != sizes:
                yield f"{found} bytes where its form has {sizes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Require(Op):
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Op):
    """Of addresses `space` says in which."""

    code: str
    what: str
    offset: int
    space: Space | None = None


class Messages(Emitter):
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
        """What the message with two descriptors does in the lanes of the mask.

        Its registers are in one or two stretches, then come those of the answer as they were; the
        result is those of the answer.  Nothing is sent if `enabled` is off.  `form` makes a
        function of two descriptors.
        """
        old = () if answer is None else (answer,)
        args = (ex_desc, desc, enabled, mask, *stretches, *old)
        results = tuple(value for x in old for value in self.fresh(UD, x.width))
        found = self.append(Send("send", args, results, self.inst, form=form))
        return found[0] if found else None

    @operation("require", Require, ANY, "m1 ->", effect=True)
    def require(self, lane: Value, reason: str) -> None:
        """The thread faults for `reason` unless the lane is set."""
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
        """In the lanes of the mask, `what` is as `code` says (see eumu.exec.findings).

        It is recorded as a finding of the instruction, and the run goes on; mask lane k is lane
        offset+k of the thread.  `at` are addresses in `space`, and the surface if that is one: the
        finding names the memory of the first lane.
        """
        args = (mask, *at)
        op = Report("report", args, (), self.inst, code=code, what=what, offset=offset, space=space)
        self.append(op)
