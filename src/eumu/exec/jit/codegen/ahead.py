"""Reading ahead: a load whose lanes each walk through memory loads several turns of a loop at once.

Else lanes are gathered one by one in each turn, from as many lines of the cache.  Here one vector a
lane is loaded for several turns, and all are turned around: what a turn wants lies side by side
then, in a buffer on the stack.  A turn takes its part, or fills the buffer again.  Where what is
ahead is outside the extent that the place saw last, or an address would leave its type on the way,
a turn loads for itself; so a fault is that of its turn, and what is read too early is never seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from eumu.exec.jit.analysis import walks
from eumu.exec.jit.analysis.affine_forms import loaded
from eumu.exec.jit.analysis.walks import Walk
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.rows import or_zeros, rows
from eumu.exec.jit.llvm.emit import int_type, lane_type, signed, vector_literal, vector_of
from eumu.exec.jit.llvm.layout import LINE, SiteWord
from eumu.ir.operations.memory import Load
from eumu.records import dataclass

_MOST_TURNS: Final = 16
_LEAST_TURNS: Final = 4
_LEAST_LANES: Final = 8
_BEFORE: Final = 3  # turns that load for themselves when a loop begins: it may be short
_PAUSE: Final = 60  # and after what is ahead could not be read


@dataclass(frozen=True, slots=True)
class Ahead:
    """A walk that reads ahead so many turns; stack variables of what it has."""

    walk: Walk
    turns: int
    buffer: str
    turn: str  # an i32: the part to take next, `turns` to fill, more to wait with that

    @property
    def width(self) -> int:
        return self.walk.load.args[0].width

    @property
    def reach(self) -> int:
        """Bytes from an address on that are read."""
        return (self.turns - 1) * self.walk.step + self.walk.load.size


def declare(k: KernelLowering) -> None:
    """Find the loads that read ahead, and give them their variables."""
    for walk in walks.find(k.function, k.facts):
        turns = _turns(walk)
        if turns and k.gathers:
            load = walk.load
            lanes = turns * load.count * load.args[0].width
            buffer = k.e.alloca(vector_of(int_type(load.type, 1), lanes), None)
            turn = k.e.alloca("i32", str(turns + _BEFORE))
            k.ahead[walk.block, walk.place] = Ahead(walk, turns, buffer, turn)


def _turns(walk: Walk) -> int:
    """How many turns are read at once: those of a line; 0 if they are too few."""
    load = walk.load
    if load.args[0].width < _LEAST_LANES or walk.step < load.size or load.type.size > LINE // 8:
        return 0
    if load.count & (load.count - 1) or (load.count > 1 and walk.step != load.size):
        return 0
    if walk.step % load.type.size:  # what a turn wants is no element of the row
        return 0
    turns = 1 << (LINE // walk.step).bit_length() >> 1
    return min(turns, _MOST_TURNS) if turns >= _LEAST_TURNS else 0


def begin(k: KernelLowering, header: int) -> bool:
    """At the start of a loop: forget what was read ahead; whether there is something to forget."""
    starting = [x for x in k.ahead.values() if x.walk.header == header]
    for x in starting:
        k.e.do(f"store i32 {x.turns + _BEFORE}, ptr {x.turn}")
    return bool(starting)


def loops(k: KernelLowering) -> set[tuple[int, int]]:
    """Ways back to the start of a loop, which do not forget."""
    return {(x.walk.latch, x.walk.header) for x in k.ahead.values()}


def deferred(k: KernelLowering, block: int) -> dict[int, Callable[[], None]]:
    """What emits the loads of a block that read ahead, by their places."""

    def emitting(x: Ahead) -> Callable[[], None]:
        return lambda: _load(k, x)

    return {place: emitting(x) for (b, place), x in k.ahead.items() if b == block}


def _load(k: KernelLowering, x: Ahead) -> None:
    e, load = k.e, x.walk.load
    if _is_easy(k, x):
        k.lower(load)
        return
    for value in (*load.args, *(guard.value for guard in x.walk.guards)):
        k.vector(value)  # here: what is made in a branch is not there behind it
    turn = e.op(f"load i32, ptr {x.turn}")
    have = e.op(f"icmp ult i32 {turn}, {x.turns}")
    take, miss, fill, plain, join = (e.name(n) for n in ("take", "miss", "fill", "plain", "join"))
    e.do(f"br i1 {have}, label %{take}, label %{miss}, !prof !5")
    e.label(take)
    taken = [_masked(k, load, value) for value in _part(k, x, turn)]
    e.do(f"store i32 {e.op(f'add i32 {turn}, 1')}, ptr {x.turn}")
    e.do(f"br label %{join}")
    e.label(miss)
    ready = _may_fill(k, x, turn)
    e.do(f"br i1 {ready}, label %{fill}, label %{plain}")
    e.label(fill)
    _fill(k, x)
    filled = _part(k, x, "0")
    e.do(f"store i32 1, ptr {x.turn}")
    e.do(f"br label %{join}")
    e.label(plain)
    waits = e.op(f"icmp ugt i32 {turn}, {x.turns}")
    less = e.op(f"select i1 {waits}, i32 {e.op(f'sub i32 {turn}, 1')}, i32 {x.turns + _PAUSE}")
    e.do(f"store i32 {less}, ptr {x.turn}")
    k.lower(load)
    own = [k.vector(value) for value in load.results]
    after = e.current_label()
    e.do(f"br label %{join}")
    e.label(join)
    vector = lane_type(load.type, x.width)
    for value, a, b, c in zip(load.results, taken, filled, own, strict=True):
        ways = f"[ {a}, %{take} ], [ {b}, %{fill} ], [ {c}, %{after} ]"
        k.plain(value, e.op(f"phi {vector} {ways}"))


def _masked(k: KernelLowering, load: Load, value: str) -> str:
    """A value with zeros in lanes that do not execute any more."""
    mask = k.mask(load.args[1])
    if mask is None:
        return value
    width = load.args[0].width
    flags, vector = vector_of("i1", width), lane_type(load.type, width)
    return k.e.op(f"select {flags} {mask}, {vector} {value}, {vector} zeroinitializer")


def _is_easy(k: KernelLowering, x: Ahead) -> bool:
    """Whether a turn's lanes are loaded as one vector, or are all one."""
    load = x.walk.load
    if loaded([k.known[a.id] for a in load.args]) is not None:
        return True
    affine = k.lanes(load.args[0]).affine
    if affine is None:
        return False
    offsets = affine.shape.offsets
    reach = max(offsets) - min(offsets) + load.size
    return reach <= 4 * len(offsets) * load.size


def _may_fill(k: KernelLowering, x: Ahead, turn: str) -> str:
    """Whether all lanes may read what is ahead, and their addresses do not wrap there."""
    e, width, load = k.e, x.width, x.walk.load
    vector = vector_of("i64", width)
    site = k.site_pointer(len(k.sites))  # that of a turn which loads for itself, emitted next
    start, span = (
        e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {site}, i64 {int(w)}')}")
        for w in (SiteWord.LANE_START, SiteWord.LANE_SPAN)
    )
    room = e.intrinsic("usub.sat", "i64", span, str(x.reach - load.size))
    distance = e.op(f"sub {vector} {k.vector(load.args[0])}, {e.splat(start, 'i64', width)}")
    fine = e.op(f"icmp ult {vector} {distance}, {e.splat(room, 'i64', width)}")
    mask = k.mask(load.args[1])
    every = _all(k, fine, mask, width)
    for guard in x.walk.guards:
        here = mask if guard.value.width > 1 else None
        stays = _all(k, _stays(k, guard, x.turns), here, guard.value.width)
        every = e.op(f"and i1 {every}, {stays}")
    return e.op(f"and i1 {every}, {e.op(f'icmp eq i32 {turn}, {x.turns}')}")


def _all(k: KernelLowering, fine: str, mask: str | None, width: int) -> str:
    """Whether something is so in all lanes of a mask."""
    flags = vector_of("i1", width)
    if mask is not None:
        off = k.e.op(f"xor {flags} {mask}, {vector_literal('i1', ['true'] * width)}")
        fine = k.e.op(f"or {flags} {fine}, {off}")
    return k.e.op(f"icmp eq i{width} {regs.bits_of_mask(k.e, fine, width, width)}, -1")


def _stays(k: KernelLowering, guard: walks.Guard, turns: int) -> str:
    """The lanes of a value that do not leave its type in so many turns."""
    type, width = guard.value.type, guard.value.width
    way = (turns - 1) * guard.step
    relation = ("s" if type.is_signed else "u") + ("le" if way > 0 else "ge")
    limit = type.maximum - way if way > 0 else type.minimum - way
    if not type.minimum <= limit <= type.maximum:
        return vector_literal("i1", ["false"] * width)
    bound = vector_literal(f"i{type.bits}", [str(signed(limit, type.bits))] * width)
    return k.e.op(f"icmp {relation} {lane_type(type, width)} {k.vector(guard.value)}, {bound}")


def _part(k: KernelLowering, x: Ahead, turn: str) -> list[str]:
    """What a turn loads, out of the buffer."""
    e, load = k.e, x.walk.load
    vector = lane_type(load.type, x.width)
    size = x.width * load.type.size
    at = e.op(f"mul i32 {turn}, {size * load.count}")
    base = e.op(f"getelementptr i8, ptr {x.buffer}, i32 {at}")
    return [
        e.op(f"load {vector}, ptr {e.op(f'getelementptr i8, ptr {base}, i32 {n * size}')}, align 1")
        for n in range(load.count)
    ]


def _fill(k: KernelLowering, x: Ahead) -> None:
    """Read what is ahead; zeros in lanes that do not execute."""
    e, load, mask = k.e, x.walk.load, k.mask(x.walk.load.args[1])
    kind, words = vector_of("ptr", x.width), vector_of("i64", x.width)
    pointers = e.op(f"getelementptr i8, ptr %flat, {words} {k.vector(load.args[0])}")
    pointers = or_zeros(k, pointers, mask, x.width)
    places = k.scratchpad("pointers", kind)
    e.do(f"store {kind} {pointers}, ptr {places}, align 8")
    bits, count = load.type.bits, x.turns * load.count
    every = 1 if load.count > 1 else x.walk.step // load.type.size
    name = f"slow.rows.{x.width}x{count}.{bits}.{every}"
    if name not in e.support:
        e.support[name] = rows(name, x.width, count, bits, every)
    e.do(f"call void @{name}(ptr %ctx, ptr {places}, ptr {x.buffer})")
