"""The data of the IR: values, roots, regions, operations, blocks, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, fields
from enum import Enum
from functools import cache, lru_cache
from typing import Any, ClassVar, NamedTuple

from eumu.errors import Place, Span
from eumu.ir.fidelity import EXACT, Fidelity
from eumu.records import dataclass
from eumu.types import BOOL, Type


@dataclass(frozen=True, slots=True)
class Value:
    """`width` lanes of one element type; type `bool` makes it a mask."""

    id: int
    type: Type
    width: int

    @property
    def is_mask(self) -> bool:
        return self.type is BOOL

    @property
    def typed(self) -> str:
        """`%3:f*16`, a mask `%4:mask*16`."""
        return f"{self}:{'mask' if self.is_mask else self.type}*{self.width}"

    def __str__(self) -> str:
        return f"%{self.id}"


class RootKind(Enum):
    """What kind of state a root holds."""

    GRF = "grf"  # bytes; reachable through register-indirect access
    FLAG = "flag"  # bits, one per lane
    ADDR = "addr"  # ud lanes: register-space addresses made by `root_address`
    STATE = "state"  # ud lanes: a surface or sampler index
    ARF = "arf"  # bytes of an architecture register (%cr0, %sr0, %ce0, ...)


@dataclass(frozen=True, slots=True)
class Root:
    """A piece of thread state that outlives a block.

    `size` is in bytes (for a flag: in bits).  `address` is where a GRF root starts in the
    thread's register space; roots never touch, so that a stray indirect access is noticed.
    """

    name: str
    kind: RootKind
    size: int
    address: int = 0

    def __str__(self) -> str:
        return f"@{self.name}"


class Region(NamedTuple):  # not a record: it is a key wherever an operation is looked at
    """Which bytes of a root an operand touches; strides in bytes, `width` in elements.

    Element k lies at ``offset + (k // width) * vstride + (k % width) * hstride``.
    """

    offset: int
    vstride: int
    width: int
    hstride: int

    @classmethod
    def packed(cls, offset: int, size: int) -> Region:
        """Consecutive elements of `size` bytes from `offset`."""
        return cls(offset, size, 1, 0)

    @classmethod
    def scalar(cls, offset: int) -> Region:
        """The same element for every lane."""
        return cls(offset, 0, 1, 0)

    @classmethod
    def strided(cls, offset: int, stride: int) -> Region:
        """Elements `stride` bytes apart."""
        return cls(offset, stride, 1, 0)

    def element(self, k: int) -> int:
        """The byte offset of element k in the root."""
        return self.offset + (k // self.width) * self.vstride + (k % self.width) * self.hstride

    @lru_cache(maxsize=1 << 14)  # a kernel has few regions and asks often  # noqa: B019
    def offsets(self, count: int) -> tuple[int, ...]:
        """The byte offsets of the first `count` elements."""
        return tuple(self.element(k) for k in range(count))


Findings = Iterator[str]  # what is wrong, a sentence each


@cache
def _added(kind: Any, own: int) -> tuple[str, ...]:
    """The names of the fields of a class behind those that all have."""
    return tuple(f.name for f in fields(kind)[own:])


@dataclass(frozen=True, slots=True)
class Op:
    """One operation; `inst` is the index of the instruction that it comes from.

    Operations with attributes have a class of their own, see :mod:`eumu.ir.operations`.
    """

    name: str
    args: tuple[Value, ...]
    results: tuple[Value, ...]
    inst: int = -1

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    @property
    def attributes(self) -> tuple[tuple[str, object], ...]:
        """What its class adds, by name."""
        kind: Any = type(self)
        return tuple((name, getattr(self, name)) for name in _added(kind, 4))

    def problems(self, function: Function) -> Findings:
        """What is wrong with it beyond the words of its row, which hold."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Terminator:
    """How a block ends: `targets` are block indices, their meaning is in the class.

    `words` are those of its arguments, as in a row of operations; `ways` is how many targets it
    has, None for one or more.
    """

    args: tuple[Value, ...] = ()
    targets: tuple[int, ...] = ()
    inst: int = -1

    name: ClassVar[str]
    words: ClassVar[tuple[str, ...]] = ()
    ways: ClassVar[int | None] = 1

    @property
    def attributes(self) -> tuple[tuple[str, object], ...]:
        """What its class adds, by name."""
        kind: Any = type(self)
        return tuple((name, getattr(self, name)) for name in _added(kind, 3))

    def problems(self, function: Function) -> Findings:
        """What is wrong with it beyond the words of its arguments, which hold."""
        return iter(())


@dataclass(slots=True)
class Block:
    """Straight-line operations and one terminator; its place in the function is its priority."""

    label: str
    ops: list[Op] = field(default_factory=list)
    end: Terminator | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """`size` bytes of the thread payload at `payload_offset` go to `root` at `offset`."""

    root: Root
    offset: int
    payload_offset: int
    size: int


@dataclass(slots=True)
class Function:
    """A kernel (or stack-called function) in IR.

    `width` is the SIMD size: lanes per thread.  `spans` and `texts` say, per instruction index,
    where it stands in the program and how it reads, for faults and traces.  In a `thread_space`
    every thread is a group.  `full_threads` says that every thread has all its lanes.
    `origins` are the lines of the source as the program has them, per instruction; `sources` says
    more of one (its text, its column), and whether it is asked for an access to memory.  With
    `lockstep` lanes of a thread may count on running together; the language may not allow that.
    With `together` they surely do: none runs while others wait in front of it, however long.
    `alignments` are the bytes of which addresses of an instruction's message must be multiples;
    `promised` says the same of what the program's language promises of the accesses of a line.
    `fidelity` has the instructions that are not exact.  `owner` is a weak reference to the kernel
    that launches the function; whoever keeps something of it lets it go with the kernel.
    """

    name: str
    width: int
    grf_bytes: int
    roots: dict[str, Root] = field(default_factory=dict)
    inputs: list[Input] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)  # named by `symbol` operations
    thread_space: bool = False
    full_threads: bool = False
    lockstep: bool = True
    together: bool = False
    origins: list[Place | None] = field(default_factory=list)
    sources: Callable[[Place, bool], Place] | None = None
    alignments: dict[int, int] = field(default_factory=dict)
    promised: Callable[[Place], int] | None = None
    fidelity: dict[int, Fidelity] = field(default_factory=dict)
    owner: Callable[[], object] | None = field(default=None, compare=False, repr=False)

    @property
    def is_orphan(self) -> bool:
        """Whether its owner is gone: nobody launches it any more."""
        return self.owner is not None and self.owner() is None

    def demand(self, inst: int, size: int) -> int:
        """Bytes of which addresses of elements of `size` bytes must be multiples."""
        origin = self.origins[inst] if 0 <= inst < len(self.origins) else None
        promised = self.promised(origin) if origin is not None and self.promised else 1
        return max(min(size, promised), self.alignments.get(inst, 1))

    def note_fidelity(self, inst: int, declared: Fidelity, first: int) -> None:
        """Note that of an instruction, whose operations are in the blocks from `first` on.

        A message that is exact as an instruction, as sends are, may ask for what is not.
        """
        own = self._made_of(inst, first)
        fidelity = declared.on(value.type for op in own for value in op.results)
        for op in own if fidelity.level == EXACT.level else ():
            if left_open := getattr(getattr(op, "record", None), "left_open", ""):
                fidelity = Fidelity("approximate", left_open)
        if fidelity.level != EXACT.level:
            self.fidelity[inst] = fidelity

    def _made_of(self, inst: int, first: int) -> list[Op]:
        """The operations of an instruction, the last one in blocks from `first` on."""
        own: list[Op] = []
        for op in reversed(self.blocks[first].ops):
            if op.inst != inst:
                break
            own.append(op)
        own.reverse()
        for block in self.blocks[first + 1 :]:
            own += [op for op in block.ops if op.inst == inst]
        return own
