"""Turns: what a loop loads in all of its turns is checked once, in front of it.

Threads that run side by side begin again where a check does not hold, so a loop needs no second
version of itself.  In front of its first turn the loads of that turn are checked as ever, and it is
computed for how many more turns all of them stay in the extents that their sites know, and no
address leaves a type on the way.  Turns have no checks of these loads then, and addresses that are
the first ones and a multiple of the turn's number.  Who wants one turn more begins again: the load
that would fault does that in the code that finds every fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from eumu.exec.jit.analysis import merging
from eumu.exec.jit.analysis.turns import Line, Loop, Step
from eumu.exec.jit.codegen import scaled
from eumu.exec.jit.codegen.access import CompiledAccess, access_of, cold_is_right
from eumu.exec.jit.codegen.checks import extent, is_expected, reach, require
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.merged import forget_parts, set_apart
from eumu.exec.jit.codegen.scaled import Row
from eumu.exec.jit.llvm.emit import Emitter, scalar_type
from eumu.exec.jit.llvm.lanes import AffineForm
from eumu.ir import Value
from eumu.records import dataclass
from eumu.types import Type

_ADDRESS_BITS: Final = 64
MOST: Final = 1 << 40  # turns


@dataclass(frozen=True, slots=True)
class _Grown:
    """Lanes of a guarded value: the scalars of their affine form, and how they grow."""

    type: Type
    affine: AffineForm
    step: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A load in front of the loop: where it is in the first turn, and how that grows; `sure` are
    i1s that must be true."""

    place: int
    access: CompiledAccess
    affine: AffineForm
    step: str  # an i64
    guards: tuple[_Grown, ...]
    sure: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turning:
    """A loop whose turns are counted: variables of the number of this turn, and of the last one of
    which everything is known."""

    loop: Loop
    label: str
    turn: str
    last: str
    found: tuple[Sequence[Checked], ...]  # of each member
    rows: tuple[Sequence[Row], ...]

    def fill(self, members: Sequence[KernelLowering]) -> None:
        """At the begin of a turn, once for many: make the numbers of the next turns."""
        if not any(self.rows):
            return
        e = members[0].e
        turn = e.op(f"load i64, ptr {self.turn}")
        is_due = e.op(f"icmp eq i64 {e.op(f'and i64 {turn}, {scaled.TURNS - 1}')}, 0")
        due, on = e.name("due"), e.name("on")
        e.do(f"br i1 {is_due}, label %{due}, label %{on}")
        e.label(due)
        for k, own in zip(members, self.rows, strict=True):
            k.enter_block(self.loop.blocks[0])
            for row in own:
                scaled.fill(k, row, turn, e.op(f"load i64, ptr {self.last}"))
        e.do(f"br label %{on}")
        e.label(on)

    def assure(self, k: KernelLowering, member: int) -> None:
        """Let a member know where its loads are in this turn."""
        turn = k.e.op(f"load i64, ptr {self.turn}")
        for x in self.found[member]:
            way = k.e.op(f"mul i64 {turn}, {x.step}")
            heads = tuple(k.e.op(f"add i64 {h}, {way}") for h in x.affine.scalars)
            k.assured[self.loop.blocks[0], x.place] = AffineForm(x.affine.shape, heads)
        for row in self.rows[member]:
            k.prepared[self.loop.blocks[0], row.scaled.place] = scaled.number(k.e, row, turn)

    def go_on(self, e: Emitter) -> None:
        """At the end of a turn: count it, and begin again if nothing is known of the next one."""
        turn, on = e.op(f"load i64, ptr {self.turn}"), e.name("on")
        e.do(f"store i64 {e.op(f'add nuw nsw i64 {turn}, 1')}, ptr {self.turn}")
        more = e.op(f"icmp ult i64 {turn}, {e.op(f'load i64, ptr {self.last}')}")
        e.do(f"br i1 {more}, label %{on}, label %again, !prof !1")
        e.label(on)


def begin(members: Sequence[KernelLowering], loop: Loop) -> Turning | None:
    """Emit what is in front of a loop, if it has something to check there."""
    found = tuple(early(k, loop) for k in members)
    if not any(found):
        return None
    e, last = members[0].e, str(MOST)
    for k, checked in zip(members, found, strict=True):
        for x in checked:
            k.place = x.place
            addresses = list(x.affine.scalars)
            require(k, x.access, x.affine, addresses)
            for limit in limits(k, x, addresses):
                last = e.intrinsic("umin", "i64", last, limit)
    label, turn, most = e.name("turn"), e.alloca("i64", None), e.alloca("i64", None)
    e.do(f"store i64 0, ptr {turn}")
    e.do(f"store i64 {last}, ptr {most}")
    e.do(f"br label %{label}")
    e.label(label)
    rows = tuple(_rows(k, loop, own) for k, own in zip(members, found, strict=True))
    return Turning(loop, label, turn, most, found, rows)


def _rows(k: KernelLowering, loop: Loop, found: Sequence[Checked]) -> list[Row]:
    """What numbers of a loop are made of elements that all lanes load together."""
    one = {
        x.place: x.affine.scalars[0]
        for x in found
        if x.affine.shape.uniform and x.affine.shape.groups == 1
    }
    return [scaled.row(k, x, one[x.load]) for x in loop.scaled if x.load in one and k.masked_stores]


# ---- in front of the loop


def early(k: KernelLowering, loop: Loop, *, partial: bool = False) -> list[Checked]:
    """Emit the addresses of a turn; the loads that can be checked before it.  In a `partial` loop
    some lanes have left, and nobody begins again."""
    index, start, e = loop.blocks[0], len(k.e.lines), k.e
    lines = {line.place: line for line in loop.lines}
    block = k.function.blocks[index]
    early = merging.find(block, k.registers.memory, [line.load for line in loop.lines])
    log, found = k.registers.log.setdefault(index, []), list[Checked]()
    before = len(log)
    k.enter_block(index)
    made = {v.id for place in early.makers for v in block.ops[place].results}
    for place, op in enumerate(block.ops):
        k.place = place
        if place in early.makers:
            k.lower(op)
        elif place in early.accesses:
            found += _checked(k, lines[place], made, partial)
    forget_parts(k, index)
    del log[before:]
    if found:
        set_apart(k, start)
    else:
        e.rewind(start, e.current_label())
    return found


def _checked(k: KernelLowering, line: Line, made: set[int], partial: bool) -> Iterator[Checked]:
    """A load, if its lanes are known and all that moves on is."""
    op = line.load
    address, mask = k.lanes(op.args[0]), k.lanes(op.args[1])
    affine, steps = address.affine, _Steps(k, made, partial)
    if affine is None or not cold_is_right(address, mask):
        return
    if not (partial and mask.executing) and (affine.shape.active or not mask.full):
        return
    access = access_of(k, op, store=False)
    if address.type.bits != _ADDRESS_BITS or not (partial or is_expected(k, access)):
        return
    if all(steps.can(step) for step in (line.step, *(step for _, step in line.guards))):
        forms = [steps.form(value) for value, _ in line.guards]
        guards = [
            _Grown(value.type, form, steps.text(step))
            for (value, step), form in zip(line.guards, forms, strict=True)
            if form is not None and (step.number or step.factor is not None)
        ]
        if None not in forms:
            yield Checked(
                *(line.place, access, affine, steps.text(line.step), tuple(guards)),
                tuple(steps.sure),
            )


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps as numbers, in front of a loop, made of values that were emitted there."""

    k: KernelLowering
    made: set[int]
    partial: bool
    sure: set[str] = field(default_factory=set)  # what must be true of them

    def form(self, value: Value) -> AffineForm | None:
        """The affine form of a value."""
        affine = self.k.lanes(value).affine if value.id in self.made else None
        if affine is None or (affine.shape.active and not self.partial):
            return None
        self.sure.add(affine.sure)
        return affine

    def can(self, step: Step) -> bool:
        """Whether a step is one number in all lanes."""
        if step.factor is None:
            return True
        form = self.form(step.factor)
        return form is not None and form.shape.uniform and form.shape.groups == 1

    def text(self, step: Step) -> str:
        """An i64."""
        e = self.k.e
        form = self.form(step.factor) if step.factor is not None else None
        if step.factor is None or form is None:
            return str(step.number)
        factor = _wide(e, step.factor.type, form.scalars[0], "sext")
        return e.op(f"mul i64 {factor}, {step.number}")


def _wide(e: Emitter, type: Type, scalar: str, extend: str) -> str:
    """A scalar as an i64."""
    return (
        scalar
        if type.bits == _ADDRESS_BITS
        else e.op(f"{extend} {scalar_type(type)} {scalar} to i64")
    )


# ---- for how many more turns


def limits(k: KernelLowering, x: Checked, addresses: Sequence[str]) -> Iterator[str]:
    """How many turns behind the first one a load stays where it may be."""
    e, (low, _) = k.e, reach(x.access, x.affine.shape)
    if x.step != "0":
        start, span = extent(k, x.access)
        for address in addresses:
            first = e.op(f"add i64 {address}, {low}") if low else address
            below = e.op(f"sub i64 {first}, {start}")
            above = e.op(f"sub i64 {e.op(f'sub i64 {span}, 1')}, {below}")
            yield _turns(e, x.step, below, above)
    for guard in x.guards:
        offsets, type = guard.affine.shape.offsets, guard.type
        extend = "sext" if type.is_signed else "zext"
        for scalar in guard.affine.scalars:
            head = _wide(e, type, scalar, extend)
            below = e.op(f"sub i64 {head}, {type.minimum - min(offsets)}")
            above = e.op(f"sub i64 {type.maximum - max(offsets)}, {head}")
            rooms = (e.intrinsic("smax", "i64", room, "0") for room in (below, above))
            yield _turns(e, guard.step, *rooms)


def _turns(e: Emitter, step: str, below: str, above: str) -> str:
    """How often one may go a step of so many bytes, with that much room on both sides."""
    if step.lstrip("-").isdecimal():
        number = int(step)
        room = above if number > 0 else below
        return e.op(f"udiv i64 {room}, {abs(number)}")
    is_up = e.op(f"icmp sgt i64 {step}, 0")
    room = e.op(f"select i1 {is_up}, i64 {above}, i64 {below}")
    size = e.op(f"select i1 {is_up}, i64 {step}, i64 {e.op(f'sub i64 0, {step}')}")
    often = e.op(f"udiv i64 {room}, {e.intrinsic('umax', 'i64', size, '1')}")
    return e.op(f"select i1 {e.op(f'icmp eq i64 {step}, 0')}, i64 {MOST}, i64 {often}")
