"""Barriers of a thread group, and what waits or yields.

A barrier concerns threads, not lanes: a thread comes with all its lanes, whatever the mask.
"""

from __future__ import annotations

from typing import Annotated, Any

from eumu.ir import Value
from eumu.ir.operations.ends import Barrier
from eumu.isa.kinds import InstBuilder, Scalar
from eumu.isa.kinds.bytes import EncodeError, Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.vector import SourceKind
from eumu.isa.limits import since
from eumu.isa.visa.registry import opcode
from eumu.messages import FlushStateCaches
from eumu.records import dataclass
from eumu.types import BOOL, UD

NAMED = since("pvc")

# What a thread is to a named barrier (page "NBARRIER").
BOTH, PRODUCER, CONSUMER = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Participants:
    """Operands of a named barrier's signal: what the thread is, and how many there are of each.

    Without a role every thread is a producer and a consumer, `producers` of them.
    """

    producers: Any
    consumers: Any = None
    role: Any = None


class ParticipantsKind(Kind):
    """`4:ub`, a number of threads, or `role producers consumers` as the documents have it.

    Intel's front end reads, and the object file has, the first form only.
    """

    manual = "threads that take part: 4:ub; or role, producers and consumers"
    example = "4:ub"
    _scalar = SourceKind(scalar=True)

    def parse(self, cursor: Cursor, names: Names) -> Participants:
        first = self._scalar.parse(cursor, names)
        if cursor.at_end():
            return Participants(first)
        producers = self._scalar.parse(cursor, names)
        return Participants(producers, self._scalar.parse(cursor, names), first)

    def print(self, operand: Participants) -> str:
        order = (operand.role, operand.producers, operand.consumers)
        return " ".join(self._scalar.print(part) for part in order if part is not None)

    def pack(self, operand: Participants, out: Packer) -> None:
        if operand.role is not None:
            raise EncodeError("the object file has named barriers with a number of threads only")
        self._scalar.pack(operand.producers, out)

    def unpack(self, source: Unpacker) -> Participants:
        return Participants(self._scalar.unpack(source))

    def bind(self, operand: Participants, builder: InstBuilder) -> Any:
        """Role, producers and consumers as ud."""
        count = self._bound(operand.producers, builder)
        if operand.role is None:
            return builder.const(UD, BOTH), count, count
        role, consumers = (self._bound(x, builder) for x in (operand.role, operand.consumers))
        return role, count, consumers

    def _bound(self, operand: Any, builder: InstBuilder) -> Value:
        return builder.convert(self._scalar.bind(operand, builder), UD)


Counts = Annotated[tuple[Value, Value, Value], ParticipantsKind()]


@opcode(0x59, "barrier", page="BARRIER", flow=True)
def barrier(b: InstBuilder) -> None:
    """Every thread of the thread group waits here for the others."""
    b.transfer(Barrier(kind="sync"))


@opcode(0x7C, "sbarrier.signal", sub=1, page="SBARRIER", flow=True)
def sbarrier_signal(b: InstBuilder) -> None:
    """Signal the thread group's barrier, and continue."""
    b.transfer(Barrier(kind="signal"))


@opcode(0x7C, "sbarrier.wait", sub=0, page="SBARRIER", flow=True)
def sbarrier_wait(b: InstBuilder) -> None:
    """Wait until every thread of the group has signalled."""
    b.transfer(Barrier(kind="wait"))


@opcode(
    0x60,
    "nbarrier.signal {barrier} {threads}",
    sub=1,
    page="NBARRIER",
    flow=True,
    platforms=NAMED,
)
def nbarrier_signal(b: InstBuilder, barrier: Scalar, threads: Counts) -> None:
    """Signal a named barrier and continue; it opens when all its threads have signalled.

    The first operand is the barrier, 0 to 31, the second the number of its threads.  When it has
    opened, it counts from 0 again.
    """
    b.transfer(Barrier((b.convert(barrier, UD), *threads), kind="signal"))


@opcode(
    0x60,
    "nbarrier.wait {barrier}",
    sub=0,
    page="NBARRIER",
    flow=True,
    platforms=NAMED,
    layout="sub barrier barrier",
)
def nbarrier_wait(b: InstBuilder, barrier: Scalar) -> None:
    """Wait until the named barrier that this thread signalled last has opened."""
    b.transfer(Barrier((b.convert(barrier, UD),), kind="wait"))


@opcode(0x5B, "wait {dependencies}", page="WAIT")
def wait(b: InstBuilder, dependencies: Scalar) -> None:
    """Wait for threads that this one depends on; those of a thread group depend on none."""


@opcode(0x5F, "yield", page="YIELD")
def yield_(b: InstBuilder) -> None:
    """A hint that another thread may run."""


@opcode(0x5A, "sampler_cache_flush", page="CACHE_FLUSH")
def sampler_cache_flush(b: InstBuilder) -> None:
    """Forget cached states of surfaces and samplers; texels are not cached here."""
    b.message(FlushStateCaches(), b.const(BOOL, 1), (), ())
