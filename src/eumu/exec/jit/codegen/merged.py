"""Merged checks: what a block accesses in local memory is checked before it, and then no more.

A check in front of each access is a branch in front of each, across which LLVM moves no load to
where it is used: tiles of matrices are loaded early, and spilled.  Addresses that differ by
constants, whatever else they are, have one check: of the first and the last byte of them all.  A
block with such accesses has two versions.  In front of it, what makes their addresses is emitted
once more; where the checks hold, the accesses are loads and stores.  Where one does not, the block
runs as it always did, each access with its own check: so a fault is the same one.  Nothing has
happened before that: what is emitted early changes copies of registers, which end there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from eumu.exec.jit.analysis import merging, sums
from eumu.exec.jit.analysis.affine_forms import LEAST_KEPT, low_ones
from eumu.exec.jit.analysis.merging import Early, Mergeable
from eumu.exec.jit.analysis.sums import Sum
from eumu.exec.jit.codegen.access import access_of, cold_is_right
from eumu.exec.jit.codegen.checks import conjunction, local_bytes, reach, restart_unless
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.stores import is_in_line
from eumu.exec.jit.llvm.emit import lane_type
from eumu.exec.jit.llvm.lanes import AffineForm, Lanes, Shape
from eumu.exec.jit.llvm.layout import LOCAL
from eumu.ir import Block, Space, Value
from eumu.ir.operations.arithmetic import Convert
from eumu.ir.operations.memory import Store
from eumu.ir.operations.state import OnRegion
from eumu.records import dataclass

LEAST: Final = 4  # accesses that are worth two versions of a block
_MOST: Final = 1000  # operations of such a block
_ADDRESS_BITS: Final = 32  # of local memory
_VARIABLE: Final = re.compile(r"^  (?:(store) |%\S+ = load ).*, ptr (%a\d+)$")

_Group = tuple[Space, Shape, tuple[object, ...]]  # space, lanes, and what differs by constants


@dataclass(frozen=True, slots=True)
class _Access:
    """One to check: its place in the block, lanes, and how far its addresses are from others'."""

    place: int
    affine: AffineForm  # of the address before high bits are cleared
    low: int  # bytes from a group's first lane to its lowest one
    total: int  # and from there to the end of the last one
    constant: int


def lower(k: KernelLowering, index: int) -> bool:
    """Emit a block whose accesses are checked before it, if that is worth it."""
    if k.untouched or index not in k.looped or k.facts.is_long:
        return False
    k.shared_sites = {}
    fine = _fine(k, index)
    if fine:
        two_versions(k, index, fine)
    k.assured, k.shared_sites = {}, None
    return bool(fine)


def require(k: KernelLowering, index: int) -> None:
    """Begin again unless accesses of a block that is emitted next are inside, where that is worth
    it.  What was checked stays assured."""
    k.assured = {}
    if fine := index in k.looped and _fine(k, index):
        restart_unless(k, fine)


def _fine(k: KernelLowering, index: int) -> str:
    """Emit the checks of a block; whether all hold, or nothing if they are not worth it."""
    block = k.function.blocks[index]
    if len(block.ops) > _MOST or block.end is None:
        return ""
    local = local_accesses(block)
    if len(local) < LEAST:
        return ""
    early = merging.find(block, k.registers.memory, local)
    if len(early.accesses) < LEAST:
        return ""
    e, start, label = k.e, len(k.e.lines), k.e.current_label()
    groups = _groups(k, index, early)
    count = sum(map(len, groups.values()))
    if not groups or count < LEAST or count < 2 * len(groups):
        e.rewind(start, label)
        return ""
    set_apart(k, start)
    fine = "true"
    for group, accesses in groups.items():
        fine = conjunction(e, fine, _check(k, index, group, accesses))
    return fine


def local_accesses(block: Block) -> list[Mergeable]:
    """The accesses of a block that may be to local memory."""
    return [op for op in block.ops if isinstance(op, merging.ACCESSES) and _may_be_local(op)]


def _may_be_local(op: Mergeable) -> bool:
    return op.space in LOCAL or op.space is Space.SURFACE


# ---- what is checked


def _groups(k: KernelLowering, index: int, early: Early) -> Mapping[_Group, list[_Access]]:
    """Emit what makes the addresses; accesses that differ by constants."""
    ops, groups = k.function.blocks[index].ops, dict[_Group, list[_Access]]()
    log = k.registers.log.setdefault(index, [])
    before, found = len(log), _sums(k, index)
    k.enter_block(index)
    for place, op in enumerate(ops):
        k.place = place
        if place in early.makers:
            k.lower(op)
        elif place in early.accesses:
            assert isinstance(op, merging.ACCESSES)
            for group, access in _access(k, op, found):
                groups.setdefault(group, []).append(access)
    forget_parts(k, index)
    del log[before:]
    return {group: accesses for group, accesses in groups.items() if len(accesses) > 1}


def _access(
    k: KernelLowering, op: Mergeable, found: Mapping[int, Sum]
) -> Iterator[tuple[_Group, _Access]]:
    """What is to be checked of an access, if that can be done before its block."""
    mask, address = k.lanes(op.args[1]), k.lanes(op.args[0]).affine
    whole = _before_masks(k, op.args[0], k.slm_bytes + k.scratch_bytes)
    raw = k.lanes(whole)
    affine, sum = raw.affine, found.get(whole.id)
    if affine is None or address is None or sum is None or not cold_is_right(raw, mask):
        return
    if (address.shape.groups, address.shape.offsets) != (affine.shape.groups, affine.shape.offsets):
        return
    if op.data and not (isinstance(op, Store) and is_in_line(k, op, affine.shape, mask)):
        return
    access = access_of(k, op, store=bool(op.data))
    if access.space in LOCAL and whole.type.bits == _ADDRESS_BITS:
        shape = Shape(affine.shape.groups, affine.shape.offsets, affine.shape.active)
        low, total = reach(access, shape)
        group = access.space, shape, (sum.terms, affine.sure)
        yield group, _Access(k.place, affine, low, total, sum.constant)


def _before_masks(k: KernelLowering, address: Value, room: int) -> Value:
    """An address before bits are cleared that no address inside so many bytes has."""
    ops = k.function.blocks[k.block].ops
    makers = {value.id: op for op in ops[: k.place] for value in op.results}
    while True:
        op = makers[address.id]
        if op.name == "and":
            kept = [_kept(k, a) for a in op.args]
            if 1 << max(kept) < room:
                return address
            address = op.args[kept.index(min(kept))]
        elif isinstance(op, Convert) and _is_same(op):
            address = op.args[0]
        else:
            return address


def _kept(k: KernelLowering, value: Value) -> int:
    """How many low bits an `and` with a value keeps, 0 if that is not known or few."""
    bits = k.known[value.id].bits
    if bits is None or len(set(bits)) != 1:
        return 0
    return min(value.type.bits - 1, low_ones(bits[0])) if low_ones(bits[0]) >= LEAST_KEPT else 0


def _is_same(op: Convert) -> bool:
    source, target = op.args[0].type, op.results[0].type
    return source.is_int and not op.saturate and source.bits == target.bits


def _sums(k: KernelLowering, index: int) -> Mapping[int, Sum]:
    """What the values of a block are made of."""
    memory = k.registers.memory
    if k.sums is None:
        visits = {
            i: visit
            for i, visit in k.analysis.visits.items()
            if i in k.flow.parked and visit.holds(i, k.analysis.entry[i], k.facts)
        }
        k.sums = sums.entries(k.function, k.flow, visits, memory), visits
    known, visits = k.sums
    return sums.run(k.function.blocks[index], index, known.get(index, {}), visits, memory)[0]


def _check(k: KernelLowering, index: int, group: _Group, accesses: Sequence[_Access]) -> str:
    """Whether all accesses of a group are inside; then their addresses are those of one of them
    and constants."""
    e, kind = k.e, f"i{_ADDRESS_BITS}"
    first = min(accesses, key=_signed_constant)
    ways = [(x.constant - first.constant) % (1 << _ADDRESS_BITS) for x in accesses]
    size = local_bytes(k, group[0])
    end = max(way + x.total for way, x in zip(ways, accesses, strict=True))
    fine = first.affine.sure
    for head in first.affine.scalars:
        at = e.op(f"zext {kind} {head} to i64")
        at = e.op(f"add i64 {at}, {first.low}") if first.low else at
        fine = conjunction(e, fine, e.op(f"icmp ult i64 {at}, {max(0, size - end + 1)}"))
    for way, x in zip(ways, accesses, strict=True):
        heads = first.affine.scalars
        if way:
            heads = tuple(e.op(f"add nuw nsw {kind} {head}, {way}") for head in heads)
        k.assured[index, x.place] = AffineForm(group[1], heads)
    return fine


def _signed_constant(x: _Access) -> int:
    half = 1 << (_ADDRESS_BITS - 1)
    return (x.constant + half) % (2 * half)


# ---- what is emitted early


def forget_parts(k: KernelLowering, index: int) -> None:
    """Registers that the block alone has are again as it finds them."""
    for op in k.function.blocks[index].ops:
        if isinstance(op, OnRegion) and op.root.name not in k.registers.memory:
            k.registers.part(op.root, min(op.offsets)).value = ""


def set_apart(k: KernelLowering, start: int) -> None:
    """Let what was emitted from a line on change copies of the variables."""
    e, types = k.e, k.registers.variables
    lines, first, copies = e.lines[start:], dict[str, bool](), dict[str, str]()
    for line in lines:
        if match := _VARIABLE.match(line):
            stored, variable = match.groups()
            first.setdefault(variable, not stored)
            if stored and variable not in copies:
                copies[variable] = e.alloca(types[variable], None)
    e.rewind(start, e.current_label())
    for variable, is_read in first.items():
        if is_read and variable in types:
            k.registers.use(variable)
        if is_read and variable in copies:
            held = e.op(f"load {types[variable]}, ptr {variable}")
            e.do(f"store {types[variable]} {held}, ptr {copies[variable]}")
    for line in lines:
        match = _VARIABLE.match(line)
        copy = copies.get(match[2]) if match else None
        e.lines.append(line if copy is None else line[: line.rindex("%a")] + copy)


# ---- the versions


def two_versions(k: KernelLowering, index: int, fine: str) -> None:
    """Emit a block with what is assured where `fine` is true, and as ever."""
    e, end = k.e, k.function.blocks[index].end
    assert end is not None
    merged, single, join = (e.name(n) for n in ("merged", "single", "join"))
    e.do(f"br i1 {fine}, label %{merged}, label %{single}, !prof !1")
    ways: list[tuple[list[str], str]] = []
    for label in (merged, single):
        e.label(label)
        k.enter_block(index)
        k.lower_operations(index, {})
        ways.append(([k.vector(value) for value in end.args], e.current_label()))
        e.do(f"br label %{join}")
        if label == merged:
            forget_parts(k, index)
            k.assured = {}
    e.label(join)
    (ours, a), (theirs, b) = ways
    for value, x, y in zip(end.args, ours, theirs, strict=True):
        kind = lane_type(value.type, value.width)
        text = x if x == y else e.op(f"phi {kind} [ {x}, %{a} ], [ {y}, %{b} ]")
        old = k.lanes(value)
        lanes = Lanes(value.type, value.width, text, bits=old.bits, full=old.full)
        lanes.executing, lanes.possible = old.executing, old.possible
        k.values[value.id] = lanes
