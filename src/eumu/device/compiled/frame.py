"""The frame of compiled answers: ``i32 run(record, data)``, 0 when it has answered.

A message for other states goes to the next record, 1 says that there is none; 2 that the model is
to be asked (see :class:`eumu.exec.host.InlineCache`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from eumu.device.compiled.record import RECORD
from eumu.device.compiled.writer import Body, Module
from eumu.device.surfaces.numbers import float_bits
from eumu.exec.jit.llvm.emit import vector_literal
from eumu.exec.jit.llvm.vectors import Kind, Vector
from eumu.records import dataclass

KEYS = 4


@dataclass(frozen=True, slots=True)
class FrameLanes:
    """The lanes from `first` (an i32) on, a vector of them; `active` is their mask."""

    b: Body
    first: str
    active: Vector

    def argument(self, index: int, kind: Kind) -> Vector:
        """These lanes of an argument."""
        b = self.b
        row = b.at("%data", b.field("argument", index))
        place = b.op(f"getelementptr i32, ptr {row}, i32 {self.first}")
        return b.vector(kind, b.load(b.type(kind), place))

    def result(self, index: int, value: Vector, bits: int = 32) -> None:
        """Write these lanes of a result, 0 where they are off."""
        if bits == 16 and value.is_float:
            value = float_bits(self.b, value, 16)
        self._write(index, self.b.where(self.active, value, 0), bits)

    def nothing(self, index: int, kind: Kind, bits: int) -> None:
        """Write 0 to these lanes of a result."""
        self._write(index, self.b.splatted(kind, 0), bits)

    def _write(self, index: int, value: Vector, bits: int) -> None:
        b, type, name = self.b, value.type, value.name
        if bits == 16:
            type = b.lanes("i16")
            name = b.op(f"trunc {value.typed} to {type}")
        row = b.at("%data", b.field("result", index))
        b.store(type, name, b.op(f"getelementptr i{bits}, ptr {row}, i32 {self.first}"))


def begin(module: Module) -> Body:
    """The function `run`, behind the test that the message is for the record's states."""
    b = Body(module)
    same = "true"
    for k in range(KEYS):
        key = b.load("i32", b.at("%data", b.field("key_at", k)))
        equal = b.op(f"icmp eq i32 {key}, {b.field('key', k)}")
        same = b.op(f"and i1 {same}, {equal}")
    b.do(f"br i1 {same}, label %mine, label %other")
    b.label("other")
    next = b.pointer("next")
    b.do(f"br i1 {b.op(f'icmp eq ptr {next}, null')}, label %unknown, label %further")
    b.label("further")
    function = b.op(f"load ptr, ptr {next}, align 8")
    b.do(f"ret i32 {b.op(f'tail call i32 {function}(ptr {next}, ptr %data)')}")
    b.label("unknown")
    b.do("ret i32 1")
    b.label("mine")
    return b


def finish(b: Body) -> str:
    """The text of the module whose function `run` this is."""
    b.do("ret i32 0")
    b.finish("i32 @run(ptr %rec, ptr %data)")
    return b.module.text()


@contextmanager
def chunks(b: Body, results: Sequence[tuple[Kind, int]]) -> Iterator[FrameLanes]:
    """A loop over vectors of lanes; results (kind, bits) are 0 where no lane is active."""
    count = b.field("lanes")
    flags = b.at("%data", b.field("mask"))
    start = b.current_label()
    b.do("br label %loop")
    b.label("loop")
    b.do(f"%first = phi i32 [ 0, %{start} ], [ %following, %latch ]")
    here = b.op(f"getelementptr i8, ptr {flags}, i32 %first")
    octets, zero = b.load(b.lanes("i8"), here), vector_literal("i8", ["0"] * b.width)
    active = b.vector("b", b.op(f"icmp ne {b.lanes('i8')} {octets}, {zero}"))
    lanes = FrameLanes(b, "%first", active)
    b.do(f"br i1 {b.any(active)}, label %some, label %none")
    b.label("none")
    for n, (kind, bits) in enumerate(results):
        lanes.nothing(n, kind, bits)
    b.do("br label %latch")
    b.label("some")
    yield lanes
    b.do("br label %latch")
    b.label("latch")
    b.do(f"%following = add i32 %first, {b.width}")
    b.do(f"%more = icmp ult i32 %following, {count}")
    b.do("br i1 %more, label %loop, label %end")
    b.label("end")


assert RECORD.fields is not None and RECORD.fields["function"][1] == 0
