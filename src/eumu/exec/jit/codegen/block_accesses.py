"""Loads and stores of consecutive elements at one address."""

from __future__ import annotations

from eumu.exec.jit.codegen import support
from eumu.exec.jit.codegen.access import CompiledAccess, access_of
from eumu.exec.jit.codegen.checks import (
    affine_form_of,
    check,
    conjunction,
    heads,
    is_expected,
    origin,
    require,
)
from eumu.exec.jit.codegen.cold_calls import slow_call
from eumu.exec.jit.codegen.endings import ending_of
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.codegen.memory import need_slow, zero_of
from eumu.exec.jit.llvm.emit import MEMCPY, Emitter, int_type, lane_type, vector_of
from eumu.exec.jit.llvm.lanes import AffineForm
from eumu.ir import Space, Value
from eumu.ir.operations.memory import LoadBlock, StoreBlock


@LOWERINGS.on(LoadBlock)
def _load_block(k: KernelLowering, op: LoadBlock) -> None:
    value = op.result
    access = access_of(k, op, store=False)
    affine, e = affine_form_of(k, access), k.e
    addresses = heads(k, access, affine)
    vector = lane_type(value.type, value.width)
    mask = None if access.mask.full else access.mask.get()
    if k.is_assured:
        place = e.op(f"getelementptr i8, ptr {origin(k, access)}, i64 {addresses[0]}")
        k.plain(value, _masked(e, value, mask, e.op(f"load {vector}, ptr {place}, align 1")))
        return
    ok, base = check(k, access, affine, addresses)
    fast, slow, join = (e.name(n) for n in ("fast", "slow", "join"))
    e.do(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    place = e.op(f"getelementptr i8, ptr {base}, i64 {addresses[0]}")
    quick = _masked(e, value, mask, e.op(f"load {vector}, ptr {place}, align 1"))
    e.do(f"br label %{join}")
    e.label(slow)
    function = _slow(k, access, "load", value, op.least_inside)
    block = vector_of(int_type(value.type, 1), value.width)
    data = k.scratchpad("data", block)
    slow_call(k, access, function, data, access.size)
    careful = e.op(f"load {vector}, ptr {data}, align 1")
    after = e.current_label()
    e.do(f"br label %{join}")
    e.label(join)
    k.plain(value, e.op(f"phi {vector} [ {quick}, %{fast} ], [ {careful}, %{after} ]"))


def _masked(e: Emitter, value: Value, mask: str | None, loaded: str) -> str:
    if mask is None:
        return loaded
    vector, zero = lane_type(value.type, value.width), zero_of(value.type, value.width)
    return e.op(f"select i1 {mask}, {vector} {loaded}, {vector} {zero}")


@LOWERINGS.on(StoreBlock)
def _store_block(k: KernelLowering, op: StoreBlock) -> None:
    (data,) = op.data
    access = access_of(k, op, store=True)
    affine, e, vector = affine_form_of(k, access), k.e, k.vector(data)
    addresses = heads(k, access, affine)
    if k.is_assured:
        place = e.op(f"getelementptr i8, ptr {origin(k, access)}, i64 {addresses[0]}")
        e.do(f"store {lane_type(data.type, data.width)} {vector}, ptr {place}, align 1")
        return
    if k.leaves_to_learn and is_expected(k, access):
        _store_or_restart(k, access, affine, vector, data)
        return
    ok, base = check(k, access, affine, addresses)
    if not access.mask.full:
        ok = conjunction(e, ok, access.mask.get())
    fast, slow, join = (e.name(n) for n in ("fast", "slow", "join"))
    e.do(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    place = e.op(f"getelementptr i8, ptr {base}, i64 {addresses[0]}")
    e.do(f"store {lane_type(data.type, data.width)} {vector}, ptr {place}, align 1")
    e.do(f"br label %{join}")
    e.label(slow)
    function = _slow(k, access, "store", data)
    block = k.scratchpad("data", vector_of(int_type(data.type, 1), data.width))
    e.do(f"store {lane_type(data.type, data.width)} {vector}, ptr {block}, align 1")
    slow_call(k, access, function, block, access.size)
    e.do(f"br label %{join}")
    e.label(join)


def _store_or_restart(
    k: KernelLowering, access: CompiledAccess, affine: AffineForm, vector: str, data: Value
) -> None:
    """Store where the site knows the array, if the mask is set."""
    e, on = k.e, k.e.name("on")
    if not access.mask.full:
        some = e.name("some")
        e.do(f"br i1 {access.mask.get()}, label %{some}, label %{on}")
        e.label(some)
    addresses = heads(k, access, affine)
    base = require(k, access, affine, addresses)
    place = e.op(f"getelementptr i8, ptr {base}, i64 {addresses[0]}")
    e.do(f"store {lane_type(data.type, data.width)} {vector}, ptr {place}, align 1")
    if not access.mask.full:
        e.do(f"br label %{on}")
        e.label(on)


def _slow(
    k: KernelLowering, access: CompiledAccess, verb: str, value: Value, least: int = 0
) -> str:
    """The function for what is not inside one array; of a surface, `least` elements must be."""
    k.e.declarations["llvm.memcpy"] = MEMCPY
    body = support.block_body(access.size, store=access.store)
    name, element = f"slow.{verb}.block{value.type.bits}x{value.width}", value.type
    several = element if value.width > 1 else None
    ending = None if access.store else ending_of(access, several, least)
    if ending is not None and access.space is Space.SURFACE:
        name += f".{least}"
    return need_slow(k, access, name, body, 0, several, ending)
