"""How blocks end."""

from __future__ import annotations

from typing import ClassVar

from eumu.ir.function import Findings, Function, Root, Terminator
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Jump(Terminator):
    """Every active lane goes to the target."""

    name = "jump"


@dataclass(frozen=True, slots=True)
class Branch(Terminator):
    """All active lanes go to the first target if the argument is set, else to the second."""

    name = "branch"
    words = ("m1",)
    ways = 2


@dataclass(frozen=True, slots=True)
class Switch(Terminator):
    """All active lanes go to the target of the argument's number; beyond, to the last one."""

    name = "switch"
    words = ("ud1",)
    ways = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfLanes(Terminator):
    """A terminator whose mask covers the lanes from `offset` on."""

    offset: int
    words: ClassVar[tuple[str, ...]] = ("m*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverge(OfLanes):
    """Active lanes in the mask go to the first target, all others to the second."""

    name = "diverge"
    ways = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ret(OfLanes):
    """Active lanes in the mask leave the frame, or end in the outermost one; others go on."""

    name = "ret"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyCall(OfLanes):
    """Active lanes in the mask enter a new frame, at one of the targets except the last.

    Other active lanes wait at the last target, inactive lanes wait where they are; all continue
    when the frame is empty.  The roots in `saves` are saved when the frame is entered, which keeps
    their values, and restored when it is empty: a callee that may be active already has its
    variables there.
    """

    saves: tuple[Root, ...] = ()

    def problems(self, function: Function) -> Findings:
        for root in self.saves:
            if function.roots.get(root.name) != root:
                yield f"{root} is no root of the function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(AnyCall):
    """Calls the first target."""

    name = "call"
    ways = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CallIndirect(AnyCall):
    """Calls the target whose address is the argument's low 32 bits; a fault if none has it."""

    name = "call_indirect"
    words = ("m*", "uq1")
    ways = None
    addresses: tuple[int, ...] = ()

    def problems(self, function: Function) -> Findings:
        yield from AnyCall.problems(self, function)
        if len(self.addresses) != len(self.targets) - 1:
            yield f"{len(self.addresses)} addresses for {len(self.targets) - 1} callees"


_NAMED_ARGUMENTS = {"sync": 0, "signal": 4, "wait": 1, "pair": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier(Terminator):
    """A barrier of the thread group; `kind` is sync, signal, wait or pair.

    Faults: a thread comes without all its lanes that have not ended; a thread has ended that others
    wait for; threads of a group wait at different sync barriers.  At a barrier of kind pair, the
    two threads of a pair meet, see `partner`.  With arguments it is a named barrier: a signal has
    (id, role, producers, consumers), ud1 each, with role 0 both, 1 producer, 2 consumer; a wait has
    (id,).  It opens when that many producers and consumers have signalled; then every one of these
    consumers may pass one wait.  Counts that differ between threads are a fault.
    """

    name = "barrier"
    words = ("ud1..",)
    kind: str

    def problems(self, function: Function) -> Findings:
        if self.kind not in _NAMED_ARGUMENTS:
            yield f"no barrier of kind {self.kind!r}"
        elif len(self.args) not in (0, _NAMED_ARGUMENTS[self.kind]):
            yield f"{len(self.args)} arguments of a {self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap(Terminator):
    """An explicit fault."""

    name = "trap"
    ways = 0
    reason: str
