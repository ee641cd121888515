"""What is known of values and of the roots that hold them: the facts that patterns are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eumu.exec.jit.flow import Flow
from eumu.exec.jit.lanes import Shape
from eumu.ir import Region, Root
from eumu.types import Type


@dataclass(frozen=True, slots=True)
class Slot:
    """Elements of a root that were written together; byte offsets in lane order."""

    root: str
    offsets: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, root: Root, region: Region, type: Type, width: int) -> Slot:
        return cls(root.name, region.offsets(width), type.size)

    def overlaps(self, other: Slot) -> bool:
        if self.root != other.root:
            return False
        return min(self.offsets) < max(other.offsets) + other.size and min(other.offsets) < (
            max(self.offsets) + self.size
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one value; see :class:`eumu.exec.jit.lanes.Lanes`.

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
    """What holds for the whole function: are all threads full, and patterns of the payload."""

    flow: Flow
    width: int  # of the thread
    full_threads: bool
    inputs: dict[Slot, Shape]
    blocked: frozenset[str] = frozenset()  # roots that indirect writes can reach
    restored: frozenset[str] = frozenset()  # roots that a return may put back


State = dict[Slot, Shape]
SCALAR = Shape(1, (0,))


def find(state: State, wanted: Slot) -> tuple[Slot, int] | None:
    """The slot that holds the wanted elements, and at which lane they start."""
    if wanted in state:
        return wanted, 0
    for slot in state:
        if slot.root == wanted.root and slot.size == wanted.size:
            count = len(wanted.offsets)
            for start in range(0, len(slot.offsets) - count + 1, count):
                if slot.offsets[start : start + count] == wanted.offsets:
                    return slot, start
    return None


def kill(state: State, slot: Slot) -> None:
    """Forget every slot that a write to these elements changes."""
    for other in [o for o in state if o.overlaps(slot)]:
        del state[other]


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
