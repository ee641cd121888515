"""Finds uses of undefined values: shadow roots, and a `report` wherever a use matters.

Every root gets a *shadow* of the same kind and size whose bits say what was written; a write sets
them to the written bits of its value.  What the thread's payload fills is written from the start,
architecture registers are always; shared local memory and scratch space are followed too
(:mod:`eumu.ir.passes.local_memory`).  Moving an undefined lane is no use.  Uses are what others see
(stored data, message payloads) and what steers (addresses, surfaces, predicates, branches), in
the lanes that execute.

Nobody knows what a `send` moves: only its descriptors are looked at, its answer counts as written,
and so does all memory of a function that has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from eumu.ir.builder import Builder
from eumu.ir.function import Block, Function, Op, Region, Root, RootKind, Terminator, Value
from eumu.ir.operations.ends import AnyCall, OfLanes
from eumu.ir.operations.memory import Access
from eumu.ir.operations.state import (
    ExecMask,
    Indirect,
    OnRoot,
    RootAddress,
    Write,
    WriteFlag,
    WriteIndirect,
    addressed,
)
from eumu.ir.passes.local_memory import LocalMemory, Place
from eumu.ir.passes.padding import Filled
from eumu.ir.passes.written import SHADOW_DISTANCE, Written
from eumu.types import BOOL, UB, UD, UW

# Predefined variables that a kernel sets itself; all others are there when it starts.
_OWN = frozenset({"%arg", "%retval", "%sp", "%fp"})
_LANES = 64  # of a report's mask, at most


def find_uninitialized(function: Function) -> Function:
    """A copy of `function` that reports the same, and follows memory of the device as well."""
    return find_undefined(function, device=True)


def find_undefined(function: Function, *, device: bool = False) -> Function:
    """A copy of `function` that reports uses of what nothing has written."""
    copy = replace(function, roots=dict(function.roots), blocks=[])
    used = [v.id for block in function.blocks for op in block.ops for v in op.results]
    shadows = _shadows(function)
    copy.roots |= {shadow.name: shadow for shadow in shadows.values()}
    builder = Builder(copy, max(used, default=-1) + 1)
    instrument = _Instrument(copy, builder, shadows, Filled(function))
    instrument.device = device
    instrument.follows = not any(op.name == "send" for b in function.blocks for op in b.ops)
    for index, block in enumerate(function.blocks):
        copy.blocks.append(instrument.block(block, is_first=index == 0))
    return copy


def _shadows(function: Function) -> dict[str, Root]:
    """A shadow for each root that something undefined can be in."""
    written = set(_written(function))
    filled = {
        argument.root.name
        for argument in function.inputs
        if (argument.offset, argument.size) == (0, argument.root.size)
        and argument.root.name not in written
    }
    known = _OWN.union(addressed(function))  # their shadows must be where a register address leads
    return {
        root.name: Root(f"{root.name}.written", root.kind, root.size, _address(root))
        for root in function.roots.values()
        if root.kind is not RootKind.ARF
        and root.name not in filled
        and (not root.name.startswith("%") or root.name in known)
    }


def _written(function: Function) -> Iterator[str]:
    """Roots that are written, or that a register address may reach."""
    for block in function.blocks:
        for op in block.ops:
            if isinstance(op, (Write, WriteFlag, RootAddress)):
                yield op.root.name


def _address(root: Root) -> int:
    return root.address + SHADOW_DISTANCE if root.kind is RootKind.GRF else 0


class _Instrument:
    """Rewrites the blocks of a function."""

    def __init__(
        self, function: Function, builder: Builder, shadows: dict[str, Root], filled: Filled
    ) -> None:
        self.function, self.b, self.shadows = function, builder, shadows
        self.w = Written(builder, shadows)
        self.filled = filled
        self._offsets: dict[int, int] = {}  # first lane of an instruction
        self.follows = True  # what is written in local memory
        self.device = False  # and in that of the device

    def block(self, block: Block, *, is_first: bool) -> Block:
        """The block with shadows and reports."""
        out = Block(block.label)
        self.b.block, self.w = out, Written(self.b, self.shadows)
        self.memory = LocalMemory(self.w, self._report, self.filled, block, device=self.device)
        if is_first:
            self._fill()
        for op in block.ops:
            self.b.inst = op.inst
            self._operation(op, out)
        if block.end is not None:
            self.b.inst = block.end.inst
            self._end(block.end)
            out.end = self._saving(block.end)
        return out

    def _fill(self) -> None:
        """What the payload gives is written, and what is the machine's own."""
        self.b.inst = -1
        for argument in self.function.inputs:
            if argument.root.name in self.shadows:
                self._filled(self.shadows[argument.root.name], argument.offset, argument.size)
        for name, shadow in self.shadows.items():
            if name.startswith("%") and name not in _OWN:
                self._filled(shadow, 0, shadow.size)

    def _filled(self, shadow: Root, offset: int, size_bytes: int) -> None:
        size = next(t for t in (UD, UW, UB) if not (offset | size_bytes) % t.size)
        count = size_bytes // size.size
        region, every = Region.packed(offset, size.size), self.b.const(BOOL, 1, count)
        self.b.write_root(shadow, region, self.w.ones(size, count), every)

    def _operation(self, op: Op, out: Block) -> None:
        if isinstance(op, ExecMask):
            self._offsets[op.inst] = op.offset
        if isinstance(op, Access):
            places = self.memory.places(op) if self.follows else []
            self._access(op, places)
            out.ops.append(op)
            self.w.step(op)
            self.memory.follow(op)
            self.memory.first = self._offsets.get(op.inst, 0)
            self.memory.step(op, places)
            return
        self._uses(op)
        out.ops.append(op)
        self.w.step(op)
        self.memory.follow(op)
        self._shadow(op)

    # ---- shadows

    def _shadow(self, op: Op) -> None:
        """Do to the shadow what the operation does to its root."""
        if isinstance(op, WriteIndirect):
            address, x, mask = op.args
            distance = op.offset + SHADOW_DISTANCE
            bits = self.w.every_bit(x)
            self.b.write_indirect(address, bits, mask, offset=distance, hstride=op.hstride)
            return
        shadow = self.shadows.get(op.root.name) if isinstance(op, OnRoot) else None
        if shadow is None:
            return
        if isinstance(op, Write):
            x, mask = op.args
            self.b.write_root(shadow, op.region, self.w.every_bit(x), mask)
        elif isinstance(op, WriteFlag):
            x, mask = op.args
            self.b.write_flag(shadow, op.offset, self.w.every_bit(x), mask)
        elif isinstance(op, RootAddress):
            self.b.root_address(shadow, op.offset)  # so that both can be reached

    def _saving(self, end: Terminator) -> Terminator:
        """A call that puts roots aside does so with their shadows."""
        if not isinstance(end, AnyCall) or not end.saves:
            return end
        shadows = (self.shadows[root.name] for root in end.saves if root.name in self.shadows)
        return replace(end, saves=(*end.saves, *shadows))

    # ---- uses

    def _uses(self, op: Op) -> None:
        """Report what an operation must not do with undefined lanes."""
        if op.name in ("write", "write_flag"):
            self._use("predicate", op.args[1], None)
        elif isinstance(op, Indirect):
            mask = op.args[-1] if op.args[-1].is_mask else None
            if mask is not None:
                self._use("predicate", mask, None)
            self._use("register address", op.args[0], mask)
        elif op.name == "require":
            self._use("descriptor", op.args[0], None)
        elif op.name == "send":
            self._use("predicate", op.args[3], None)
            for x in op.args[:2]:
                self._use("descriptor", x, None)
        elif op.name == "message":
            self._use("predicate", op.args[0], None)
            for x in op.args[1:]:
                self._use("message payload", x, op.args[0])

    def _access(self, op: Access, places: list[Place]) -> None:
        (address, mask), data = op.args[:2], op.data
        self._use("predicate", mask, None)
        self._use("address", address, mask)
        for surface in op.args[2 + len(data) :]:
            self._use("surface", surface, mask)
        if op.name == "atomic":
            for x in data:
                self._use("operand", x, mask)
        elif any(self.w.bits(x) is not None for x in data):
            seen = self.memory.visible(op, places)
            for x in data if seen is not None else ():
                self._use("stored data", x, seen, self.memory.harmless(op, x))

    def _end(self, end: Terminator) -> None:
        what = _CONDITIONS.get(end.name)
        if what is None:
            return
        for x in end.args:
            if self.w.bits(x) is None:
                continue
            offset, width = 0, self.function.width  # what is uniform concerns every active lane
            if x.is_mask and isinstance(end, OfLanes):
                offset, width = end.offset, x.width
            self._offsets[end.inst] = offset
            self._use(what, x, self.b.exec_mask(offset, width))

    def _use(self, what: str, x: Value, mask: Value | None, harmless: Value | None = None) -> None:
        """Report lanes of x that are in the mask and not written, unless that is harmless."""
        lanes = self.w.lanes(x)
        if lanes is None:
            return
        bad = self.b.not_(lanes)
        if harmless is not None:
            bad = self.b.and_(bad, self.b.not_(harmless))
        if mask is not None:
            if bad.width != mask.width and (mask.width > 1 or bad.width > _LANES):
                bad = self.b.any(bad)
            width = max(bad.width, mask.width)
            bad = self.b.and_(self.b.splat(bad, width), self.b.splat(mask, width))
        self._report(what, bad)

    def _report(self, what: str, bad: Value) -> None:
        self.b.report(what, bad, self._offsets.get(self.b.inst, 0))


_CONDITIONS = {
    "branch": "branch condition",
    "diverge": "branch condition",
    "switch": "branch condition",
    "call": "call condition",
    "call_indirect": "call target",
    "ret": "return condition",
    "barrier": "barrier",
}
