"""Roots as LLVM variables.

Every root is cut into *parts*: the connected unions of the byte ranges that operations touch.  A
part is one stack variable, a vector of integers of the part's finest access, always loaded and
stored whole, so that LLVM makes it an SSA value.  A part that only one block accesses is a value
from the start: most of a long program is such temporaries, and LLVM's passes over thousands of
stack variables take longer than all else.  Roots whose register-space address is taken live in the
thread's record instead, as bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from math import gcd

from eumu.errors import InternalError, Unsupported
from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.llvm.emit import MEMCPY, Emitter, lane_type, scalar_type, vector_of
from eumu.ir import Function, Region, Root, RootKind
from eumu.ir.operations.state import OnRegion, Partner, addressed
from eumu.records import dataclass
from eumu.types import Type


@dataclass(slots=True)
class RegisterSlice:
    """Bytes start … end-1 of a root as a vector of `unit`-byte integers.

    `inside` says that one block alone accesses it, and cannot see what it was before or `is_new`:
    zero when that block begins.  It has no variable then; `value` is what it holds.
    """

    root: Root
    start: int
    end: int
    unit: int
    variable: str = ""
    inside: bool = False
    is_new: bool = False
    value: str = ""

    @property
    def count(self) -> int:
        return (self.end - self.start) // self.unit

    @property
    def scalar(self) -> str:
        return f"i{self.unit * 8}"

    @property
    def llvm(self) -> str:
        return vector_of(self.scalar, self.count)

    @property
    def zero(self) -> str:
        return "0" if self.count == 1 else "zeroinitializer"


@dataclass(frozen=True, slots=True)
class Event:
    """A load of a whole stack variable, or a store."""

    variable: str
    is_use: bool


@dataclass(slots=True)
class Registers:
    """All roots of a function."""

    parts: dict[str, list[RegisterSlice]] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)  # name -> variable of i<size>
    memory: dict[str, tuple[Root, int]] = field(default_factory=dict)  # name -> record offset
    memory_end: int = 0  # of the memory roots in the record
    variables: dict[str, str] = field(default_factory=dict)  # stack variable -> LLVM type
    log: dict[int, list[Event]] = field(default_factory=dict)
    block: int = -1

    def use(self, variable: str) -> None:
        """Note that the current block needs a variable's value."""
        self.log.setdefault(self.block, []).append(Event(variable, True))

    def define(self, variable: str) -> None:
        """Note that the current block replaces a variable's whole value."""
        self.log.setdefault(self.block, []).append(Event(variable, False))

    def declare(self, e: Emitter) -> None:
        """Make the stack variables, zero at entry as in the interpreter."""
        for parts in self.parts.values():
            for part in parts:
                if not part.inside:
                    self._declare(e, part)

    def _declare(self, e: Emitter, part: RegisterSlice) -> None:
        part.variable, part.inside = e.alloca(part.llvm, part.zero), False
        self.variables[part.variable] = part.llvm

    def get(self, e: Emitter, part: RegisterSlice) -> str:
        """Emit what a part holds."""
        if part.inside and not part.value:
            if part.is_new:
                part.value = part.zero
            else:  # of the block's last run
                self._declare(e, part)
        if part.inside:
            return part.value
        self.use(part.variable)
        return e.op(f"load {part.llvm}, ptr {part.variable}")

    def put(self, e: Emitter, part: RegisterSlice, value: str) -> None:
        """Emit the replacement of all that a part holds."""
        if part.inside:
            part.value = value
            return
        self.define(part.variable)
        e.do(f"store {part.llvm} {value}, ptr {part.variable}")

    def is_inside(self, root: Root, low: int) -> bool:
        """Whether one block alone accesses the part that contains a byte."""
        return root.name not in self.memory and self.part(root, low).inside

    def part(self, root: Root, low: int) -> RegisterSlice:
        """The part that contains a byte of a root."""
        parts = self.parts[root.name]
        place = bisect_right(parts, low, key=_start) - 1
        if place >= 0 and low < parts[place].end:
            return parts[place]
        raise InternalError(f"byte {low} of root {root.name} is in no part")


def accesses(function: Function) -> Iterator[tuple[int, Root, tuple[int, ...], int]]:
    """Block, root, byte offsets and element size of every direct access."""
    for index, block in enumerate(function.blocks):
        for op in block.ops:
            if isinstance(op, OnRegion):
                yield index, op.root, op.offsets, op.value.type.size


def cut(
    function: Function, record_offset: int, flow: Flow, kept: frozenset[str] = frozenset()
) -> Registers:
    """Choose the parts; memory roots are placed in the record from `record_offset`.

    The roots `kept` are needed as variables.
    """
    registers = Registers()
    place = record_offset
    for root in _in_memory(function):
        registers.memory[root.name] = (root, place)
        place += -(-root.size // 8) * 8
    registers.memory_end = place
    ranges: dict[str, list[tuple[int, int, int]]] = {}
    users: dict[str, list[tuple[int, int]]] = {}
    roots: dict[str, Root] = {}
    for index, root, offsets, size in accesses(function):
        low, high, unit = _range(offsets, size)
        if low < 0 or high > root.size:
            raise InternalError(f"access to bytes {low}..{high} of root {root.name}")
        if root.name in registers.memory:
            continue
        roots[root.name] = root
        ranges.setdefault(root.name, []).append((low, high, unit))
        users.setdefault(root.name, []).append((low, index))
    for name, atoms in ranges.items():
        registers.parts[name] = list(_unite(roots[name], sorted(set(atoms))))
    kept = kept.union(argument.root.name for argument in function.inputs)
    for argument in function.inputs:
        for part in registers.parts.get(argument.root.name, []):
            for edge in (argument.offset, argument.offset + argument.size):
                if part.start < edge < part.end:
                    part.unit = gcd(part.unit, edge - part.start)
    _find_inside(registers, {n: u for n, u in users.items() if n not in kept}, flow)
    return registers


@lru_cache(maxsize=1 << 12)
def _range(offsets: tuple[int, ...], size: int) -> tuple[int, int, int]:
    """First byte, end, and bytes of a unit of which all elements consist."""
    low = min(offsets)
    return low, max(offsets) + size, gcd(size, *(offset - low for offset in offsets))


def _start(part: RegisterSlice) -> int:
    return part.start


def _find_inside(
    registers: Registers, users: Mapping[str, list[tuple[int, int]]], flow: Flow
) -> None:
    """Mark the parts that one block alone accesses; `users`: first byte and block of accesses."""
    repeated = flow.repeated()
    for name, places in users.items():
        parts = registers.parts[name]
        blocks: list[set[int]] = [set() for _ in parts]
        for low, block in places:
            blocks[bisect_right(parts, low, key=_start) - 1].add(block)
        for part, inside in zip(parts, blocks, strict=True):
            part.inside = len(inside) == 1
            part.is_new = not inside & repeated


def _in_memory(function: Function) -> list[Root]:
    """The roots whose address is taken, and what partners look at."""
    found = addressed(function)
    for block in function.blocks:
        found |= {op.root.name: op.root for op in block.ops if isinstance(op, Partner)}
    return sorted(found.values(), key=lambda r: r.address)


def _unite(root: Root, ranges: Sequence[tuple[int, int, int]]) -> Iterator[RegisterSlice]:
    group: list[tuple[int, int, int]] = []
    for item in [*ranges, None]:
        if group and (item is None or item[0] >= max(high for _, high, _ in group)):
            low, high = group[0][0], max(h for _, h, _ in group)
            unit = high - low if high - low <= 8 else 8
            for a, b, u in group:
                unit = gcd(gcd(unit, u), gcd(a - low, b - low))
            yield RegisterSlice(root, low, high, unit)
            group = []
        if item is not None:
            group.append(item)


def _indices(part: RegisterSlice, offsets: Sequence[int], size: int) -> list[int]:
    """The units of the part that hold the elements."""
    ratio = size // part.unit
    return [(o - part.start) // part.unit + r for o in offsets for r in range(ratio)]


def load(e: Emitter, registers: Registers, root: Root, region: Region, t: Type, width: int) -> str:
    """Emit a read of `width` elements."""
    offsets = region.offsets(width)
    if root.name in registers.memory:
        return load_bytes(e, registers, root, offsets, t)
    part = registers.part(root, min(offsets))
    whole = registers.get(e, part)
    indices = _indices(part, offsets, t.size)
    units = e.shuffle(whole, part.scalar, part.count, indices)
    return e.bitcast(units, vector_of(part.scalar, len(indices)), lane_type(t, width))


def store(
    e: Emitter,
    registers: Registers,
    root: Root,
    region: Region,
    t: Type,
    width: int,
    value: str,
    mask: str | None,
) -> None:
    """Emit a write of `width` elements; `mask` is None for all of them."""
    offsets = region.offsets(width)
    if width > 1 and len(set(offsets)) != width:
        raise Unsupported(f"a write of several lanes to one element of {root.name}")
    if mask is not None:
        old = load(e, registers, root, region, t, width)
        vector = lane_type(t, width)
        value = e.op(f"select {vector_of('i1', width)} {mask}, {vector} {value}, {vector} {old}")
    if root.name in registers.memory:
        if mask is not None:
            value = e.op(f"freeze {lane_type(t, width)} {value}")
        _store_bytes(e, registers, root, offsets, t, value)
        return
    part = registers.part(root, min(offsets))
    indices = _indices(part, offsets, t.size)
    units = e.bitcast(value, lane_type(t, width), vector_of(part.scalar, len(indices)))
    if indices != list(range(part.count)):
        units = _insert(e, part, registers.get(e, part), units, indices)
    registers.put(e, part, units)


def _insert(e: Emitter, part: RegisterSlice, whole: str, units: str, indices: list[int]) -> str:
    """The part's vector with some units replaced."""
    count = part.count
    if len(indices) == 1:
        return e.op(f"insertelement {part.llvm} {whole}, {part.scalar} {units}, i64 {indices[0]}")
    where = {unit: k for k, unit in enumerate(indices)}
    padded = e.shuffle(units, part.scalar, len(indices), [where.get(k, -1) for k in range(count)])
    lanes = [count + k if k in where else k for k in range(count)]
    return e.blend(whole, padded, part.scalar, count, lanes)


def byte_pointer(
    e: Emitter, registers: Registers, root: Root, offset: int, record: str = "%rec"
) -> str:
    """The address of a byte of a memory root, of this thread's or another record."""
    return e.op(f"getelementptr i8, ptr {record}, i64 {registers.memory[root.name][1] + offset}")


def copy_bytes(e: Emitter, target: str, source: str, size: int) -> None:
    e.declarations["llvm.memcpy"] = MEMCPY
    e.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def _runs(offsets: Sequence[int], size: int) -> bool:
    return all(o == offsets[0] + k * size for k, o in enumerate(offsets))


def load_bytes(
    e: Emitter,
    registers: Registers,
    root: Root,
    offsets: Sequence[int],
    t: Type,
    record: str = "%rec",
) -> str:
    """Emit a read of a memory root."""
    vector, scalar = lane_type(t, len(offsets)), scalar_type(t)
    if _runs(offsets, t.size):
        pointer = byte_pointer(e, registers, root, offsets[0], record)
        return e.op(f"load {vector}, ptr {pointer}, align 1")
    if len(set(offsets)) == 1:
        pointer = byte_pointer(e, registers, root, offsets[0], record)
        return e.splat(e.op(f"load {scalar}, ptr {pointer}, align 1"), scalar, len(offsets))
    result = "poison"
    for k, offset in enumerate(offsets):
        pointer = byte_pointer(e, registers, root, offset, record)
        lane = e.op(f"load {scalar}, ptr {pointer}, align 1")
        result = e.op(f"insertelement {vector} {result}, {scalar} {lane}, i64 {k}")
    return result


def _store_bytes(
    e: Emitter, registers: Registers, root: Root, offsets: Sequence[int], t: Type, value: str
) -> None:
    vector, scalar = lane_type(t, len(offsets)), scalar_type(t)
    if _runs(offsets, t.size):
        pointer = byte_pointer(e, registers, root, offsets[0])
        e.do(f"store {vector} {value}, ptr {pointer}, align 1")
        return
    for k, offset in enumerate(offsets):
        lane = e.op(f"extractelement {vector} {value}, i64 {k}")
        pointer = byte_pointer(e, registers, root, offset)
        e.do(f"store {scalar} {lane}, ptr {pointer}, align 1")


def load_flag(e: Emitter, registers: Registers, root: Root, offset: int, width: int) -> str:
    """Emit a read of flag bits as a mask."""
    word, variable = f"i{root.size}", registers.flags[root.name]
    registers.use(variable)
    bits = e.op(f"load {word}, ptr {variable}")
    if offset:
        bits = e.op(f"lshr {word} {bits}, {offset}")
    return mask_of_bits(e, bits, root.size, width)


def store_flag(
    e: Emitter, registers: Registers, root: Root, offset: int, width: int, x: str, mask: str | None
) -> None:
    """Emit a write of flag bits; `mask` is None for all of them."""
    word, variable = f"i{root.size}", registers.flags[root.name]
    value = bits_of_mask(e, x, width, root.size, offset)
    if mask is None and width == root.size:
        registers.define(variable)
        e.do(f"store {word} {value}, ptr {variable}")
        return
    if mask is None:
        chosen = str(((1 << width) - 1) << offset)
    else:
        chosen = bits_of_mask(e, mask, width, root.size, offset)
        value = e.op(f"and {word} {value}, {chosen}")
    registers.use(variable)
    old = e.op(f"load {word}, ptr {variable}")
    others = e.op(f"xor {word} {chosen}, -1")
    kept = e.op(f"and {word} {old}, {others}")
    e.do(f"store {word} {e.op(f'or {word} {kept}, {value}')}, ptr {variable}")


def bits_of_mask(e: Emitter, mask: str, width: int, size: int, offset: int = 0) -> str:
    """A mask as an integer of `size` bits, lane 0 at bit `offset`."""
    narrow = f"i{width}"
    bits = mask if width == 1 else e.op(f"bitcast <{width} x i1> {mask} to {narrow}")
    if width < size:
        bits = e.op(f"zext {narrow} {bits} to i{size}")
    elif width > size:
        bits = e.op(f"trunc {narrow} {bits} to i{size}")
    return e.op(f"shl i{size} {bits}, {offset}") if offset else bits


def mask_of_bits(e: Emitter, bits: str, size: int, width: int) -> str:
    """The low `width` bits of an integer as a mask."""
    if width < size:
        bits = e.op(f"trunc i{size} {bits} to i{width}")
    elif width > size:
        bits = e.op(f"zext i{size} {bits} to i{width}")
    return bits if width == 1 else e.op(f"bitcast i{width} {bits} to <{width} x i1>")


def declare_flags(e: Emitter, function: Function, registers: Registers) -> None:
    for root in function.roots.values():
        if root.kind is RootKind.FLAG:
            variable = e.alloca(f"i{root.size}", "0")
            registers.flags[root.name] = variable
            registers.variables[variable] = f"i{root.size}"
