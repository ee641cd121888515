"""Windows: the bytes of the register file that register-indirect accesses can touch.

Native code computes addresses from data (`a0 = base + 64 * (x & 15) + 4 * lane`).  Where the least
and the greatest address are certain, the rest of the file may be cut into live ranges.  Values are
followed as intervals, elements of registers too, from block to block.  What is written under the
execution mask is known of the lanes that execute, and only in its block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.ir import Block, Function, Op, Root, Value
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import (
    ExecMask,
    Indirect,
    Read,
    ReadIndirect,
    RootAddress,
    Write,
    WriteIndirect,
)
from eumu.records import dataclass
from eumu.types import Type

_PATIENCE: Final = 3  # times that an element may grow where ways meet
_MOST_VISITS: Final = 20_000  # of blocks

Place = tuple[int, int]  # a block and an operation in it


@dataclass(frozen=True, slots=True)
class Window:
    """Bytes `start` … `end`-1 of the file, and the operation that the address comes from."""

    start: int
    end: int
    base: Place

    @property
    def bytes(self) -> int:
        """A bit for each byte."""
        return (1 << self.end) - (1 << self.start)


@dataclass(frozen=True, slots=True)
class _Interval:
    """The least and the greatest lane; if `first` is a number, of the lanes that execute: lane 0
    is then that lane of the thread.  `bases` are addresses of the file that it is made of."""

    least: int
    most: int
    first: int | None = None
    bases: frozenset[Place] = frozenset()


@dataclass(frozen=True, slots=True)
class _Element:
    """What a register has at some byte: never negative, in any type of its size."""

    size: int
    least: int
    most: int
    lane: int | None = None  # the lane of the thread that must execute

    def hull(self, other: _Element) -> _Element:
        return replace(self, least=min(self.least, other.least), most=max(self.most, other.most))


@dataclass(frozen=True, slots=True)
class _Mask:
    """Lanes that may be set; if `first` is a number, only while they execute."""

    possible: frozenset[int]
    first: int | None = None
    whole: bool = False  # all of these are set


_State = dict[tuple[str, int], _Element]  # by root and byte


def windows(
    function: Function, flow: Flow, file: Root, full: Collection[int] = ()
) -> dict[Place, Window] | None:
    """Of all register-indirect accesses; None if not all are certain to stay inside the file.

    All lanes execute in the blocks `full`.
    """
    if any(is_call(function.blocks[i].end) for i in flow.parked):
        return None
    begins: dict[int, _State] = {0: {}}
    grown: dict[int, int] = {}
    work, visits = [0], 0
    while work:
        index, visits = work.pop(), visits + 1
        scan = _Scan(function, index, file, index in full, begins[index].copy())
        if not scan.run() or visits > _MOST_VISITS:
            return None
        for target in flow.edges.get(index, ()):
            grown[target] = grown.get(target, 0) + 1
            now = _met(begins.get(target), scan.kept(), grown[target] > _PATIENCE)
            if now != begins.get(target):
                begins[target] = now
                work.append(target)
    found: dict[Place, Window] = {}
    for index, state in begins.items():
        scan = _Scan(function, index, file, index in full, state)
        scan.run()
        found |= scan.found
    bases = [window.base for window in found.values()]
    return found if len(set(bases)) == len(bases) else None


def _met(before: _State | None, now: _State, strict: bool) -> _State:
    """What holds after either; an element that still grows is forgotten if that is `strict`."""
    if before is None:
        return now
    both = {}
    for key in before.keys() & now.keys():
        old, new = before[key], now[key]
        hull = old.hull(new)
        if old.size == new.size and not (strict and hull != old):
            both[key] = hull
    return both


@dataclass(slots=True)
class _Scan:
    """The way through one block."""

    function: Function
    index: int
    file: Root
    all_execute: bool
    state: _State
    values: dict[int, _Interval] = field(default_factory=dict)
    masks: dict[int, _Mask] = field(default_factory=dict)
    found: dict[Place, Window] = field(default_factory=dict)

    @property
    def block(self) -> Block:
        return self.function.blocks[self.index]

    def run(self) -> bool:
        """Whether all addresses of the file are followed to an access."""
        for place, op in enumerate(self.block.ops):
            if isinstance(op, Indirect):
                if not self._access(place, op):
                    return False
            elif not self._followed(op):
                return False
            elif len(op.results) == 1 and op.result.is_mask:
                self._mask(op)
            elif isinstance(op, RootAddress) and op.root is self.file:
                address = self.file.address + op.offset
                bases = frozenset(((self.index, place),))
                self.values[op.result.id] = _Interval(address, address, None, bases)
            elif isinstance(op, Write):
                self._write(op)
            elif len(op.results) == 1 and op.result.type.is_int:
                self.values[op.result.id] = self._made(op)
        end = self.block.end
        return end is None or not any(self._of(a).bases for a in end.args)

    def kept(self) -> _State:
        """What other blocks may know."""
        return {key: x for key, x in self.state.items() if x.lane is None}

    def _of(self, value: Value) -> _Interval:
        """An interval of a value of an integer type; all of the type if nothing is known."""
        known = self.values.get(value.id)
        return known if known is not None else _any(value.type)

    def _followed(self, op: Op) -> bool:
        """Whether addresses of the file, if it is given some, become addresses of the file."""
        given = any(a.id in self.values and self.values[a.id].bases for a in op.args)
        return not given or op.name in ("add", "convert", "splat")

    # ---- masks

    def _mask(self, op: Op) -> None:
        width = op.result.width
        every = frozenset(range(width))
        mask = _Mask(every)
        if isinstance(op, ExecMask):
            every_one = self.all_execute and op.offset + width <= self.function.width
            mask = _Mask(every, None if every_one else op.offset, True)
        elif isinstance(op, Const):
            lanes = op.lanes if len(op.lanes) == width else op.lanes * width
            mask = _Mask(frozenset(k for k in every if lanes[k]), None, True)
        elif op.name == "and":
            x, y = (self.masks.get(a.id, _Mask(every)) for a in op.args)
            first = x.first if x.first is not None else y.first
            mask = _Mask(x.possible & y.possible, first, x == y)
        self.masks[op.result.id] = mask

    # ---- registers

    def _read(self, op: Read) -> _Interval:
        size = op.value.type.size
        elements = [self.state.get((op.root.name, offset)) for offset in op.offsets]
        known = [x for x in elements if x is not None and size <= x.size]
        if len(known) < len(elements) or any(x.most >= 1 << 8 * size - 1 for x in known):
            return _any(op.value.type)
        lanes = {x.lane - n for n, x in enumerate(known) if x.lane is not None}
        if len(lanes) > 1:
            return _any(op.value.type)
        least, most = min(x.least for x in known), max(x.most for x in known)
        return _Interval(least, most, next(iter(lanes), None))

    def _write(self, op: Write) -> None:
        value, size, width = op.value, op.value.type.size, op.value.width
        self._forget(op.root.name, op.offsets, size)
        mask = self.masks.get(op.args[1].id, _Mask(frozenset()))
        if not mask.whole or len(mask.possible) < width or not value.type.is_int:
            return
        x = self._of(value)
        if x.least < 0 or x.most >= 1 << 8 * size - 1:
            return
        if x.first is not None and x.first != mask.first:
            return
        for n, offset in enumerate(op.offsets):
            lane = None if mask.first is None else mask.first + n
            self.state[op.root.name, offset] = _Element(size, x.least, x.most, lane)

    def _forget(self, root: str, offsets: Iterable[int], size: int) -> None:
        for offset in offsets:
            for at in range(offset - 7, offset + size):
                old = self.state.get((root, at))
                if old is not None and at + old.size > offset:
                    del self.state[root, at]

    # ---- values

    def _made(self, op: Op) -> _Interval:
        if isinstance(op, Read):
            return self._read(op)
        type = op.result.type
        if isinstance(op, Const):
            sign = 1 << type.bits - 1 if type.is_signed else 0
            lanes = [(lane ^ sign) - sign for lane in op.lanes]
            return _Interval(min(lanes), max(lanes))
        given = [a for a in op.args if not a.is_mask]
        rule = _RULES.get(op.name)
        if rule is None or not given or not all(a.type.is_int for a in given):
            return _any(type)
        known = [self._of(a) for a in given]
        bases = frozenset[Place]().union(*(x.bases for x in known))
        least, most = rule(known)
        firsts = {x.first for x in known if x.first is not None}
        apart = len(firsts) <= 1 and (not firsts or all(a.width == op.result.width for a in given))
        if not apart or least < type.minimum or most > type.maximum:
            return replace(_any(type), bases=bases)
        return _Interval(least, most, next(iter(firsts), None), bases)

    # ---- accesses

    def _access(self, place: int, op: Indirect) -> bool:
        address = self._of(op.args[0])
        if any(self._of(a).bases for a in op.args[1:]) or len(address.bases) != 1:
            return False
        data = op.result if isinstance(op, ReadIndirect) else op.args[1]
        distances = _distances(op, data.width)
        mask = self._mask_of(op, data.width)
        if address.first is not None:
            # Lanes of addresses are of the lanes of the mask; a single one is of the only lane.
            single = op.args[0].width == 1
            if not single and (op.args[0].width != data.width or mask.first != address.first):
                return False
            if single and mask.possible != {address.first - (mask.first or 0)}:
                return False
            if mask.first is None:
                return False
        lanes = [distances[n] for n in mask.possible] or [0]
        start = address.least - self.file.address + min(lanes)
        end = address.most - self.file.address + max(lanes) + data.type.size
        if start < 0 or end > self.file.size:
            return False
        (base,) = address.bases
        self.found[self.index, place] = Window(start, end, base)
        if isinstance(op, WriteIndirect):
            self._forget(self.file.name, (start,), end - start)
        elif data.type.is_int:
            self.values[data.id] = _any(data.type)
        return True

    def _mask_of(self, op: Indirect, width: int) -> _Mask:
        number = 1 if isinstance(op, ReadIndirect) else 2
        every = _Mask(frozenset(range(width)))
        return self.masks.get(op.args[number].id, every) if number < len(op.args) else every


def _any(type: Type) -> _Interval:
    return _Interval(type.minimum, type.maximum) if type.is_int else _Interval(0, 0)


def _distances(op: Indirect, width: int) -> list[int]:
    """How far each element is from its address."""
    if not isinstance(op, ReadIndirect):
        return [op.offset + n * op.hstride for n in range(width)]
    inside = [op.offset + n % op.row * op.hstride for n in range(width)]
    if op.args[0].width > 1:
        return inside
    return [d + n // op.row * op.vstride for n, d in enumerate(inside)]


# ---- what operations make of intervals

_Pair = tuple[int, int]
_NOTHING: Final = (-1 << 70, 1 << 70)  # in no type


def _both(f: Callable[[int, int], int]) -> Callable[[Sequence[_Interval]], _Pair]:
    """A function that grows with each argument, or falls."""

    def rule(given: Sequence[_Interval]) -> _Pair:
        x, y = given
        ends = [f(a, b) for a in (x.least, x.most) for b in (y.least, y.most)]
        return min(ends), max(ends)

    return rule


def _same(given: Sequence[_Interval]) -> _Pair:
    return given[0].least, given[0].most


def _either(given: Sequence[_Interval]) -> _Pair:
    return min(x.least for x in given), max(x.most for x in given)


def _and(given: Sequence[_Interval]) -> _Pair:
    positive = [x.most for x in given if x.least >= 0]
    return (0, min(positive)) if positive else _NOTHING


def _or(given: Sequence[_Interval]) -> _Pair:
    if any(x.least < 0 for x in given):
        return _NOTHING
    return 0, (1 << max(x.most for x in given).bit_length()) - 1


def _shifted(f: Callable[[int, int], int]) -> Callable[[Sequence[_Interval]], _Pair]:
    def rule(given: Sequence[_Interval]) -> _Pair:
        x, count = given
        if x.least < 0 or not 0 <= count.least <= count.most < 16:
            return _NOTHING
        return _both(f)(given)

    return rule


_RULES: Final[Mapping[str, Callable[[Sequence[_Interval]], _Pair]]] = {
    "add": _both(lambda x, y: x + y),
    "sub": _both(lambda x, y: x - y),
    "mul": _both(lambda x, y: x * y),
    "min": _both(min),
    "max": _both(max),
    "and": _and,
    "or": _or,
    "xor": _or,
    "shl": _shifted(lambda x, n: x << n),
    "shr": _shifted(lambda x, n: x >> n),
    "convert": _same,
    "splat": _same,
    "select": _either,
}
