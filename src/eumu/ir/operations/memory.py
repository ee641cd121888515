"""Loads, stores and atomic operations."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from eumu.ir.function import Findings, Function, Op, Value
from eumu.ir.operations.row import ANY, DATA, Emitter, operation
from eumu.records import dataclass
from eumu.types import UD, Type


class Space(Enum):
    """An address space of `load`, `store` and `atomic`."""

    FLAT = "flat"  # uq device virtual addresses
    SLM = "slm"  # ud byte offsets in the thread group's shared local memory
    SCRATCH = "scratch"  # ud byte offsets in the thread's own scratch space
    SURFACE = "surface"  # ud byte offsets in the buffer surface that an index names
    # The bits of SLM and SCRATCH that were written: spaces of the same size that start as zeros.
    SLM_WRITTEN = "slm_written"
    SCRATCH_WRITTEN = "scratch_written"
    # The bits of FLAT and SURFACE that were not written, which the host keeps.
    FLAT_UNWRITTEN = "flat_unwritten"
    SURFACE_UNWRITTEN = "surface_unwritten"


# Spaces whose contents nothing defines when a group starts, and the spaces that say what is.
WRITTEN_SPACES: Final = {Space.SLM: Space.SLM_WRITTEN, Space.SCRATCH: Space.SCRATCH_WRITTEN}

# The same of device memory, whose contents nothing defines where the host has put none.
UNWRITTEN_SPACES: Final = {
    Space.FLAT: Space.FLAT_UNWRITTEN,
    Space.SURFACE: Space.SURFACE_UNWRITTEN,
}

# Atomic operations and how many data arguments each has.
ATOMICS: Final[dict[str, int]] = {
    **dict.fromkeys(("add", "sub", "and", "or", "xor", "xchg", "min", "max"), 1),
    **dict.fromkeys(("inc", "dec", "predec", "load"), 0),
    "cmpxchg": 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access(Op):
    """An access to memory: an address and a mask, data, and in SURFACE the surface index (ud1)."""

    space: Space

    @property
    def operands(self) -> int:
        """The number of data arguments."""
        return 0

    @property
    def data(self) -> tuple[Value, ...]:
        """The data arguments."""
        return self.args[2 : 2 + self.operands]

    @property
    def size(self) -> int:
        """The number of bytes at each address."""
        value = (self.results or self.data)[0]
        return value.type.size * (value.width if self.args[0].width == 1 else 1)

    def problems(self, function: Function) -> Findings:
        """There is a surface index if and only if the space is a SURFACE space."""
        extra = len(self.args) - 2 - self.operands
        if extra != (self.space in (Space.SURFACE, Space.SURFACE_UNWRITTEN)):
            yield f"{len(self.args)} arguments in space {self.space.value}"
        elif extra and (self.args[-1].type, self.args[-1].width) != (UD, 1):
            yield f"the surface index {self.args[-1].typed} should be ud*1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Access):
    type: Type
    count: int

    @property
    def size(self) -> int:
        return self.type.size * self.count

    def problems(self, function: Function) -> Findings:
        yield from Access.problems(self, function)
        if len(self.results) != self.count:
            yield f"{len(self.results)} results for a count of {self.count}"
        if any(value.type is not self.type for value in self.results):
            yield f"its results should be {self.type}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Access):
    count: int

    @property
    def operands(self) -> int:
        return self.count

    @property
    def size(self) -> int:
        return self.data[0].type.size * self.count

    def problems(self, function: Function) -> Findings:
        yield from Access.problems(self, function)
        shape = self.data[0].type, self.args[0].width
        if any((v.type, v.width) != shape for v in self.data):
            yield "its data should have one type and the width of the address"


LARGEST_JOINED: Final = 32  # bytes of a block that may be three elements in place of four
# Bytes of four halves and of three: one lane reads the fourth for `vloada_half3`.
HALVES: Final = 8
THREE_HALVES: Final = 6
LEAST_ROUNDED: Final = 8  # elements of a block that may be one of fewer


def least_inside(count: int) -> int:
    """How many elements of such a block must be inside an array.

    >>> least_inside(4), least_inside(2), least_inside(8)
    (3, 2, 6)
    """
    return count - count // 4


def least_of_surface(count: int, wanted: int) -> int:
    """How many elements of a block must be inside a surface that is not of constants.

    The compiler joins what a program wants, and there are blocks of up to four elements, of eight,
    and of each power of two from there on.  `wanted` ones are used.

    >>> least_of_surface(4, 2), least_of_surface(32, 20), least_of_surface(32, 4)
    (4, 20, 17)
    """
    if count < LEAST_ROUNDED:
        return count
    return max(count // 2 + 1, min(wanted, count))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBlock(Access):
    wanted: int | None = None  # of a large block of a surface: how many elements anything reads

    @property
    def least_inside(self) -> int:
        """How many elements must be inside a surface that is not of constants."""
        count = self.result.width
        return least_of_surface(count, count if self.wanted is None else self.wanted)


class StoreBlock(Access):
    __slots__ = ()

    @property
    def operands(self) -> int:
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Atomic(Access):
    type: Type
    operation: str

    @property
    def operands(self) -> int:
        return ATOMICS.get(self.operation, 0)

    def problems(self, function: Function) -> Findings:
        if self.operation not in ATOMICS:
            yield f"no atomic operation {self.operation!r}"
            return
        yield from Access.problems(self, function)
        shape = self.type, self.args[0].width
        if any((v.type, v.width) != shape for v in (*self.data, self.result)):
            yield f"its data should be {self.type} with the width of the address"
        if self.type.is_float and self.operation in ("inc", "dec", "predec", "and", "or", "xor"):
            yield f"{self.operation} of {self.type}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence(Op):
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow(Op):
    """The access of the next operation: `size` bytes from byte `start` of each lane's address.

    `kind` is one of `races.READ` ….  Lane k of the operation is work item lane + k of the thread;
    with `lane` -1, the argument has the work items.  `granule` is the bytes that share a record.
    """

    space: Space
    kind: int
    start: int
    size: int
    lane: int
    granule: int


def _also(surface: Value | None) -> tuple[Value, ...]:
    return () if surface is None else (surface,)


class MemoryEmitter(Emitter):
    @operation("load", Load, DATA, "a m s1? -> x..", effect=True)
    def load(
        self,
        space: Space,
        address: Value,
        mask: Value,
        type: Type,
        count: int = 1,
        surface: Value | None = None,
    ) -> tuple[Value, ...]:
        """Load in each lane `count` consecutive elements from byte `address` on.

        Result v has element v.  Lanes whose mask bit is clear give 0.
        """
        args = (address, mask, *_also(surface))
        results = self.fresh(type, address.width, count)
        return self.append(
            Load("load", args, results, self.inst, space=space, type=type, count=count)
        )

    @operation("store", Store, DATA, "a m y*.. ->", effect=True)
    def store(
        self,
        space: Space,
        address: Value,
        mask: Value,
        data: Sequence[Value],
        surface: Value | None = None,
    ) -> None:
        """Store each lane's argument v to element v from `address` on; lanes in ascending order."""
        args = (address, mask, *data, *_also(surface))
        self.append(Store("store", args, (), self.inst, space=space, count=len(data)))

    @operation("load_block", LoadBlock, DATA, "a1 m1 s1? -> x*", effect=True)
    def load_block(
        self,
        space: Space,
        address: Value,
        mask: Value,
        type: Type,
        count: int,
        surface: Value | None = None,
    ) -> Value:
        """Load `count` consecutive elements from one address, as lanes; 0 if the mask is clear."""
        args = (address, mask, *_also(surface))
        results = self.fresh(type, count)
        return self.append(LoadBlock("load_block", args, results, self.inst, space=space))[0]

    @operation("store_block", StoreBlock, DATA, "a1 m1 x* s1? ->", effect=True)
    def store_block(
        self,
        space: Space,
        address: Value,
        mask: Value,
        data: Value,
        surface: Value | None = None,
    ) -> None:
        """Store the lanes as consecutive elements from one address on, if the mask is set."""
        args = (address, mask, data, *_also(surface))
        self.append(StoreBlock("store_block", args, (), self.inst, space=space))

    def aligned(self, size: int) -> None:
        """Require addresses of the instruction's message to be multiples of `size` bytes."""
        alignment = self.function.alignments.get(self.inst, 1)
        self.function.alignments[self.inst] = max(alignment, size)

    @operation("atomic", Atomic, DATA, "a m y*.. -> x", effect=True)
    def atomic(
        self,
        operation: str,
        space: Space,
        address: Value,
        mask: Value,
        type: Type,
        data: Sequence[Value] = (),
        surface: Value | None = None,
    ) -> Value:
        """Atomic operation of each lane, in ascending order; gives the old value (predec: the new).

        `operation` is add, sub, inc, dec, predec, and, or, xor, xchg, load, min, max or cmpxchg.
        min and max are the operations of that name; cmpxchg (x new, y compare) compares as `cmp
        eq`; float add rounds to nearest even.  Lanes whose mask bit is clear give 0.
        """
        op = Atomic(
            "atomic",
            (address, mask, *data, *_also(surface)),
            self.fresh(type, address.width),
            self.inst,
            space=space,
            type=type,
            operation=operation,
        )
        return self.append(op)[0]

    @operation("fence", Fence, ANY, "->", effect=True)
    def fence(self, scope: str) -> None:
        """Order the thread's accesses to memory; both engines run them in order anyway."""
        self.append(Fence("fence", (), (), self.inst, scope=scope))

    @operation("follow", Follow, ANY, "a m ud1 ud1 ud1 s1? ->", effect=True)
    def follow(
        self,
        space: Space,
        address: Value,
        mask: Value,
        epochs: Sequence[Value],
        items: Value,
        surface: Value | None = None,
        *,
        kind: int,
        start: int,
        size: int,
        lane: int,
        granule: int,
    ) -> None:
        """Compare an access with those in shadow memory, and record it there.

        `epochs` count the barriers that order local memory, and those that order global memory.
        If all lanes make the same access, `items` has a bit for each of them.  An access that could
        be a race marks the launch as suspect.
        """
        args = (address, mask, *epochs, items, *_also(surface))
        self.append(
            Follow(
                *("follow", args, (), self.inst),
                space=space,
                kind=kind,
                start=start,
                size=size,
                lane=lane,
                granule=granule,
            )
        )
