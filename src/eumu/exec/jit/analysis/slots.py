"""What is known of values, and of the roots that hold them: what affine forms are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.llvm.lanes import Shape
from eumu.ir.operations.state import OnRegion
from eumu.records import dataclass


class Slot(NamedTuple):  # not a record: what is known is looked up by it, for each operation
    """Elements of a root that were written together; byte offsets in lane order."""

    root: str
    offsets: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, op: OnRegion) -> Slot:
        value = op.value
        return cls(op.root.name, op.region.offsets(value.width), value.type.size)

    def overlaps(self, other: Slot) -> bool:
        if self.root != other.root:
            return False
        return min(self.offsets) < max(other.offsets) + other.size and min(other.offsets) < (
            max(self.offsets) + self.size
        )


@dataclass(frozen=True, slots=True)
class KnownValue:
    """What is known of one value; see :class:`eumu.exec.jit.llvm.lanes.Lanes`.

    `whole` marks a mask that has every executing lane.
    """

    shape: Shape | None = None
    bits: tuple[int, ...] | None = None
    full: bool = False
    executing: bool = False
    whole: bool = False
    possible: int | None = None  # of a mask: the lanes that may be set, a bit each


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds for the whole function: are all threads full, and affine forms of the payload."""

    flow: Flow
    width: int  # of the thread
    full_threads: bool
    inputs: dict[Slot, Shape]
    blocked: frozenset[str] = frozenset()  # roots that indirect writes can reach
    restored: frozenset[str] = frozenset()  # roots that a return may put back
    confined: bool = False  # register-indirect accesses stay in the roots that they are meant for
    is_long: bool = False  # that its code is there soon counts for more than how fast it is


class BlockState:
    """Slots and the affine forms they hold; those of one root are found without the others.

    Copies share the slots of a root until one of them changes it.
    """

    __slots__ = ("_own", "_roots")

    def __init__(self, slots: Mapping[Slot, Shape] | None = None) -> None:
        self._roots: dict[str, dict[Slot, Shape]] = {}
        self._own: set[str] = set()  # roots whose slots no copy has
        for slot, shape in (slots or {}).items():
            self[slot] = shape

    def copy(self) -> BlockState:
        """Another state, which changes by itself."""
        other = BlockState()
        other._roots = self._roots.copy()
        self._own.clear()
        return other

    def roots(self) -> Iterable[str]:
        """The roots that have slots."""
        return self._roots.keys()

    def of(self, root: str) -> Mapping[Slot, Shape]:
        """The slots of a root."""
        return self._roots.get(root, _NONE)

    def share(self, root: str, other: BlockState) -> None:
        """Hold of a root what another state holds."""
        self._roots[root] = other._roots[root]
        self._own.discard(root)
        other._own.discard(root)

    def get(self, slot: Slot) -> Shape | None:
        return self._roots.get(slot.root, _NONE).get(slot)

    def __getitem__(self, slot: Slot) -> Shape:
        return self._roots[slot.root][slot]

    def __setitem__(self, slot: Slot, shape: Shape) -> None:
        self._changing(slot.root)[slot] = shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockState) and self._roots == other._roots

    __hash__ = None  # type: ignore[assignment]  # it changes

    def items(self) -> Iterator[tuple[Slot, Shape]]:
        for slots in self._roots.values():
            yield from slots.items()

    def forget(self, roots: Iterable[str]) -> None:
        """Forget all slots of these roots."""
        for root in roots:
            self._roots.pop(root, None)

    def forget_active(self) -> None:
        """Forget what holds of executing lanes only."""
        for root in [
            r for r, slots in self._roots.items() if any(s.active for s in slots.values())
        ]:
            active = [slot for slot, shape in self._roots[root].items() if shape.active]
            if len(active) == len(self._roots[root]):
                del self._roots[root]
                continue
            slots = self._changing(root)
            for slot in active:
                del slots[slot]

    def kill(self, slot: Slot) -> None:
        """Forget every slot that a write to these elements changes."""
        slots = self._roots.get(slot.root)
        if slots and (gone := [o for o in slots if o.overlaps(slot)]):
            if len(gone) == len(slots):
                del self._roots[slot.root]
                return
            slots = self._changing(slot.root)
            for other in gone:
                del slots[other]

    def _changing(self, root: str) -> dict[Slot, Shape]:
        """The slots of a root, which only this state has."""
        if root not in self._own:
            self._own.add(root)
            self._roots[root] = dict(self._roots.get(root, _NONE))
        return self._roots.setdefault(root, {})


_NONE: Mapping[Slot, Shape] = {}
SCALAR = Shape(1, (0,))


def find(state: BlockState, wanted: Slot) -> tuple[Slot, int] | None:
    """The slot that holds the wanted elements, and at which lane they start."""
    slots = state.of(wanted.root)
    if wanted in slots:
        return wanted, 0
    count = len(wanted.offsets)
    for slot in slots:
        if slot.size == wanted.size:
            for start in range(0, len(slot.offsets) - count + 1, count):
                if slot.offsets[start : start + count] == wanted.offsets:
                    return slot, start
    return None


def slice_shape(shape: Shape, start: int, width: int) -> Shape | None:
    """The shape of lanes start … start+width-1."""
    size = len(shape.offsets)
    if width % size == 0 and start % size == 0:
        return replace(shape, groups=width // size)
    first = start % size
    if first + width > size:
        return None
    offsets = shape.offsets[first : first + width]
    return replace(shape, groups=1, offsets=tuple(o - offsets[0] for o in offsets))
