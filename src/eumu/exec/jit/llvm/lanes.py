"""A value during lowering: its LLVM vector, made when first wanted, and what is known of its lanes.

An *affine form* says that lanes fall into equal groups and that lane k of a group is the group's
scalar plus a constant, ``offsets[k]``, with ``offsets[0] == 0``.  Work-item ids and the addresses
made of them have one, so that a load becomes one scalar check and a vector load.  Offsets count
bits as integers, whatever the type: registers are read in other types than they are written in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from eumu.exec.jit.llvm.emit import (
    Emitter,
    int_type,
    lane_type,
    scalar_type,
    signed,
    vector_literal,
    vector_of,
)
from eumu.records import dataclass
from eumu.types import Type

MAX_GROUPS = 4
CHEAP = 24  # operations that a cold path may do again


@dataclass(frozen=True, slots=True)
class Shape:
    """The static part of an affine form: number of groups, and each lane's offset in its group.

    `active` restricts the affine form to the lanes that execute in the current block; `certain` is
    False if it depends on a run-time condition; `bound`: every lane is in 0 … bound, below half of
    what its bits can say; `constant`: the bits of every lane, where they are known and the same.
    """

    groups: int
    offsets: tuple[int, ...]
    active: bool = False
    certain: bool = True
    bound: int | None = None
    constant: int | None = None

    @property
    def exact(self) -> bool:
        """Whether the affine form holds for every lane, always."""
        return self.certain and not self.active

    @property
    def uniform(self) -> bool:
        return not any(self.offsets)

    @property
    def width(self) -> int:
        return self.groups * len(self.offsets)

    @property
    def spread(self) -> tuple[int, ...]:
        """The offset of each lane of all groups."""
        return self.offsets * self.groups


@dataclass(frozen=True, slots=True)
class AffineForm:
    """A shape with its scalars (LLVM names of the element type, one a group).

    `sure` names an i1: the affine form holds if it is true (a literal ``true`` mostly).
    """

    shape: Shape
    scalars: tuple[str, ...]
    sure: str = "true"


@dataclass(slots=True)
class Lanes:
    """A lowered value.

    `make` emits the vector (True: in a cold path, where nothing is remembered); `bits` are known
    lane constants; `full` marks a mask all of whose lanes are set; `executing` marks a mask with
    only executing lanes.
    """

    type: Type
    width: int
    vector: str | None = None
    make: Callable[[bool], str] | None = None
    affine: AffineForm | None = None
    bits: tuple[int, ...] | None = None
    full: bool = False
    executing: bool = False
    possible: int | None = None  # of a mask: the lanes that may be set
    origin: Lanes | None = None  # what was written to the root that this value was read from
    cost: int = 1  # operations that make it

    def get(self) -> str:
        """The vector, emitted here if it was not yet; call on the main line of a block."""
        if self.vector is None:
            assert self.make is not None
            self.vector = self.make(False)
        return self.vector

    def cold(self) -> str:
        """The vector for use in a cold path: made again there if that is cheap.

        So the vector is not needed on the main line, where only the scalars are.  It may
        be right in the executing lanes only.
        """
        if self.cost <= CHEAP:
            if self.origin is not None:
                return self.origin.cold()
            if self.make is not None:
                return self.make(True)
        if self.vector is not None:
            return self.vector
        assert self.make is not None
        return self.make(True)


def near(shape: Shape | None, bits: int) -> Shape | None:
    """The shape unless two lanes of a group are half of all numbers of `bits` bits apart.

    So the distance of any two lanes is a signed number of the type, and the bytes from the first to
    the last of them can be counted: what is farther apart is of no use to an access.
    """
    if shape is None or max(shape.offsets) - min(shape.offsets) < 1 << max(0, bits - 1):
        return shape
    return None


@lru_cache(maxsize=1 << 12)
def shape_of_constants(values: tuple[int, ...], bits: int) -> tuple[Shape, tuple[int, ...]] | None:
    """The shape of known lanes and the first value of each group; None for an irregular vector."""
    width = len(values)
    if values.count(values[0]) == width:
        bound = values[0] if bits and values[0] < 1 << (bits - 1) else None
        return Shape(1, (0,) * width, bound=bound), values[:1]
    groups = 1
    while groups <= MAX_GROUPS and width % groups == 0:
        size = width // groups
        heads = tuple(values[g * size] for g in range(groups))
        offsets = tuple(signed(v - heads[0], bits) for v in values[:size])
        if all(
            signed(values[g * size + k] - heads[g], bits) == offsets[k]
            for g in range(groups)
            for k in range(size)
        ):
            top = max(values)
            bound = top if bits and top < 1 << (bits - 1) else None
            shape = near(Shape(groups, offsets, bound=bound), bits)
            return (shape, heads) if shape is not None else None
        groups *= 2
    return None


def split(shape: Shape, groups: int) -> tuple[Shape, tuple[tuple[int, int], ...]] | None:
    """The shape with more groups: each new group's old group and constant to add to its scalar."""
    if groups == shape.groups:
        return shape, tuple((g, 0) for g in range(groups))
    if groups < shape.groups or shape.width % groups:
        return None
    size, ratio = shape.width // groups, groups // shape.groups
    parts = [shape.offsets[p * size : (p + 1) * size] for p in range(ratio)]
    rebased = {tuple(o - part[0] for o in part) for part in parts}
    if len(rebased) != 1:
        return None
    heads = tuple((g // ratio, parts[g % ratio][0]) for g in range(groups))
    return replace(shape, groups=groups, offsets=rebased.pop()), heads


def merged(shapes: Sequence[Shape], offsets: tuple[int, ...], bound: int | None) -> Shape:
    """What several shapes with the same groups have in common, with other offsets."""
    return Shape(
        shapes[0].groups,
        offsets,
        any(s.active for s in shapes),
        all(s.certain for s in shapes),
        bound,
    )


def moved(e: Emitter, type: Type, head: str, distance: int) -> str:
    """Emit the lane that is `distance` beyond a scalar of an affine form."""
    if not distance:
        return head
    kind, bits = scalar_type(type), int_type(type, 1)
    whole = e.bitcast(head, kind, bits)
    return e.bitcast(e.op(f"add {bits} {whole}, {distance}"), bits, kind)


def vector_of_affine(e: Emitter, type: Type, affine: AffineForm) -> str:
    """Emit the vector of an affine form."""
    scalar, shape = scalar_type(type), affine.shape
    width, size = shape.width, len(shape.offsets)
    if width == 1:
        return affine.scalars[0]
    if shape.groups == 1:
        base = e.splat(affine.scalars[0], scalar, width)
    else:
        base = "poison"
        vector = vector_of(scalar, width)
        for g, head in enumerate(affine.scalars):
            base = e.op(f"insertelement {vector} {base}, {scalar} {head}, i64 {g}")
        base = e.shuffle(base, scalar, width, [k // size for k in range(width)])
    if shape.uniform:
        return base
    vector, bits = lane_type(type, width), int_type(type, width)
    offsets = vector_literal(int_type(type, 1), [str(o) for o in shape.spread])
    total = e.op(f"add {bits} {e.bitcast(base, vector, bits)}, {offsets}")
    return e.bitcast(total, bits, vector)
