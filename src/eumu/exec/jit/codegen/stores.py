"""Stores: runs of consecutive lanes in line, else lane by lane."""

from __future__ import annotations

from dataclasses import replace

from eumu.exec.jit.codegen import irregular, streaming, support
from eumu.exec.jit.codegen.access import CompiledAccess, access_of
from eumu.exec.jit.codegen.checks import (
    affine_form_of,
    check,
    conjunction,
    heads,
    is_expected,
    mask_word,
    reach,
    require,
    restart_unless,
)
from eumu.exec.jit.codegen.cold_calls import slow_call
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.codegen.memory import need_slow
from eumu.exec.jit.llvm.emit import Emitter, int_type, lane_type, scalar_type, vector_of
from eumu.exec.jit.llvm.lanes import Lanes, Shape
from eumu.exec.jit.llvm.layout import LINE
from eumu.ir import Space
from eumu.ir.operations.memory import Store
from eumu.types import Type

MOST_RUNS = 32  # in a group; more are not worth their code


@LOWERINGS.on(Store)
def _store(k: KernelLowering, op: Store) -> None:
    data = op.data
    type, width = data[0].type, data[0].width
    access = access_of(k, op, store=True)
    e = k.e
    vectors = [k.vector(d) for d in data]
    if k.facts.is_long:
        _slow_store(k, access, type, width, vectors, access.size)
        return
    affine = affine_form_of(k, access)
    addresses = heads(k, access, affine)
    slow, join = e.name("slow"), e.name("join")
    runs = _runs(affine.shape.offsets, access.size)
    if len(runs) <= MOST_RUNS:
        masked = None if access.mask.full else access.mask.get()
        inline = _can_mask(k, op, runs)
        every = "true"
        if masked is not None and not inline:
            word = mask_word(k, access.mask)
            every = e.op(f"icmp eq i{width} {word}, {'true' if width == 1 else '-1'}")
            masked = None
        if is_expected(k, access):
            restart_unless(k, every)
            base = require(k, access, affine, addresses)
        else:
            ok, base = check(k, access, affine, addresses)
            fast = e.name("fast")
            ok = conjunction(e, every, ok)
            e.do(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !1")
            e.label(fast)
        for g, address in enumerate(addresses):
            for run in runs:
                lanes = [g * len(affine.shape.offsets) + lane for lane in run]
                offset = affine.shape.offsets[run[0]]
                where = e.op(f"add i64 {address}, {offset}") if offset else address
                _store_run(k, access, lanes, base, where, vectors, type, masked)
        if is_expected(k, access):
            return
        e.do(f"br label %{join}")
    else:
        e.do(f"br label %{slow}")
    e.label(slow)
    is_rare = is_in_line(k, op, affine.shape, access.mask) and irregular.is_rare(k, access)
    access = replace(access, is_rare=is_rare)
    if irregular.can_scatter(k, access, type) and not is_rare:
        at, some, careful = irregular.places(k, access), e.name("some"), e.name("careful")
        e.do(f"br i1 {at.inside}, label %{some}, label %{careful}, !prof !1")
        e.label(some)
        irregular.scatter(k, at, type, width, vectors)
        e.do(f"br label %{join}")
        e.label(careful)
    _slow_store(k, access, type, width, vectors, reach(access, affine.shape)[1])
    e.do(f"br label %{join}")
    e.label(join)


def _can_mask(k: KernelLowering, op: Store, runs: list[list[int]]) -> bool:
    """Whether a store of some lanes is an instruction for each run."""
    long = min(len(run) for run in runs) > 1
    return k.masked_stores and op.data[0].type.size >= 4 and op.count == 1 and long


def is_in_line(k: KernelLowering, op: Store, shape: Shape, mask: Lanes) -> bool:
    """Whether a store to addresses of such a shape is in line whatever lanes the mask has."""
    runs = _runs(shape.offsets, op.size)
    return len(runs) <= MOST_RUNS and (mask.full or _can_mask(k, op, runs))


def _slow_store(
    k: KernelLowering,
    access: CompiledAccess,
    type: Type,
    width: int,
    vectors: list[str],
    total: int,
) -> None:
    e, count = k.e, len(vectors)
    body = support.elements(type.bits, count, store=True)
    name, element = f"slow.store.{type.bits}x{count}", type if count > 1 else None
    function = need_slow(k, access, name, body, type.bits, element)
    block = k.scratchpad("data", vector_of(int_type(type, 1), width * count))
    for v, vector in enumerate(vectors):
        place = e.byte(block, v * width * type.size)
        e.do(f"store {lane_type(type, width)} {vector}, ptr {place}, align 1")
    slow_call(k, access, function, block, total)


def _runs(offsets: tuple[int, ...], size: int) -> list[list[int]]:
    """The lanes of a group, cut where they are not consecutive in memory."""
    runs = [[0]]
    for lane in range(1, len(offsets)):
        if offsets[lane] == offsets[lane - 1] + size:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    return runs


def _store_run(
    k: KernelLowering,
    access: CompiledAccess,
    lanes: list[int],
    base: str,
    address: str,
    vectors: list[str],
    type: Type,
    mask: str | None,
) -> None:
    """Store consecutive lanes at a checked address."""
    e, size, scalar, width = k.e, len(lanes), scalar_type(type), access.address.width
    parts = [e.shuffle(v, scalar, width, lanes) for v in vectors]
    data = interleave(e, scalar, size, parts)
    place = e.op(f"getelementptr i8, ptr {base}, i64 {address}")
    vector = vector_of(scalar, size * len(vectors))
    if mask is None:
        if k.streams and access.space is Space.FLAT and size * access.size % LINE == 0:
            streaming.store(k, access.site, place, vector, data)
        else:
            e.do(f"store {vector} {data}, ptr {place}, align 1")
        return
    chosen = e.shuffle(mask, "i1", width, lanes)
    name = f"llvm.masked.store.v{size}{'f' if scalar in ('float', 'double') else 'i'}"
    name += f"{type.bits}.p0"
    e.declarations[name] = f"declare void @{name}({vector}, ptr, <{size} x i1>)"
    e.do(f"call void @{name}({vector} {data}, ptr align 1 {place}, <{size} x i1> {chosen})")


def interleave(e: Emitter, scalar: str, size: int, parts: list[str]) -> str:
    """Lane 0 of every part, then lane 1 of every part, …"""
    count = len(parts)
    if count == 1:
        return parts[0]
    if size == 1:
        vector, result = vector_of(scalar, count), "poison"
        for v, part in enumerate(parts):
            result = e.op(f"insertelement {vector} {result}, {scalar} {part}, i64 {v}")
        return result
    joined, width = parts[0], size
    for v, part in enumerate(parts[1:], 1):
        wide = (
            part
            if width == size
            else e.shuffle(part, scalar, size, [*range(size), *([-1] * (width - size))])
        )
        joined = e.blend(joined, wide, scalar, width, [*range(width), *range(width, width + size)])
        width = (v + 1) * size
    return e.shuffle(
        joined, scalar, width, [v * size + j for j in range(size) for v in range(count)]
    )
