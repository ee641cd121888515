"""Calls of slow functions in the cold paths of a kernel, which are most of the calls that it has.

They go by functions that put all registers aside, so the kernel keeps there what it has there.
These also make what need not be made in the kernel: the place of the site, the addresses of lanes
that are equally far apart, zeros where the lanes go that are off.
"""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.access import CompiledAccess, cold_vector
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.attention import KEEPING, KEEPS
from eumu.exec.jit.llvm.emit import Emitter, lane_type, vector_of
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.lanes import Lanes
from eumu.exec.jit.llvm.layout import SITE_WORDS, Context
from eumu.exec.jit.llvm.vectors import Vector
from eumu.ir import Space

_MOST_LANES: Final = 64
# What a kernel says of an access, in one number: bits of each part.  So all arguments go in
# registers.
_PARTS: Final = {"site": 20, "width": 7, "store": 1, "narrow": 1, "size": 11, "total": 24}
_GIVEN: Final = "ptr %ctx, i64 %what, i64 %where, i64 %mask, ptr %data, ptr %function"


def _parts(f: FunctionBuilder) -> dict[str, Vector]:
    parts, start = dict[str, Vector](), 0
    for name, bits in _PARTS.items():
        parts[name] = f.number("%what") >> start & (1 << bits) - 1
        start += bits
    return parts


def _at() -> str:
    """``where`` is a place that the addresses of all lanes are at; a load gives zeros where a lane
    is off."""
    f = FunctionBuilder(f"internal {KEEPING} i1 @kept.at({_GIVEN}) {KEEPS}")
    parts = _parts(f)
    site = f.elements(64, "%ctx", parts["site"] * SITE_WORDS + int(Context.SITES))
    with f.when(f.equal(parts["store"], 0)):
        bytes_ = (parts["width"] * parts["size"]).typed
        f.do(f"call void @llvm.memset.p0.i64(ptr %data, i8 0, {bytes_}, i1 false)")
    where = f.pointer(f.number("%where"))
    given = f"ptr %ctx, ptr {site}, {parts['site'].typed}, ptr {where}, i64 %mask, ptr %data"
    given += f", {parts['width'].typed}, i64 0, {parts['total'].typed}"
    f.do(f"ret i1 {f.op(f'call i1 %function({given})')}")
    return f.text()


def _row() -> str:
    """``where`` is the address of the first lane; narrow ones come round behind 32 bits."""
    f = FunctionBuilder(f"internal {KEEPING} i1 @kept.row({_GIVEN}) {KEEPS}")
    parts, addresses = _parts(f), f.alloca(f"[{_MOST_LANES} x i64]", None)
    between = f.where(parts["width"] > 1, parts["width"] - 1, f.number("1"))
    step = (parts["total"] - parts["size"]) // between
    last = f.where(f.equal(parts["narrow"], 0), f.number("-1"), (1 << 32) - 1)
    with f.times(parts["width"]) as lane:
        f.word(addresses, lane).set((f.number("%where") + lane * step) & last)
    place = f.op(f"ptrtoint ptr {addresses} to i64")
    given = f"ptr %ctx, i64 %what, i64 {place}, i64 %mask, ptr %data, ptr %function"
    f.do(f"ret i1 {f.op(f'call {KEEPING} i1 @kept.at({given})')}")
    return f.text()


KEPT: Final = _at() + _row()


def _what(access: CompiledAccess, total: int) -> int | None:
    """The number that says it, if it fits."""
    values = {
        "site": access.site,
        "width": access.address.width,
        "store": access.store,
        "narrow": access.address.width > 1 and access.address.type.size == 4,
        "size": access.size,
        "total": total,
    }
    what = start = 0
    for name, bits in _PARTS.items():
        if values[name] >= 1 << bits:
            return None
        what += values[name] << start
        start += bits
    return what


def slow_call(
    k: KernelLowering,
    access: CompiledAccess,
    function: str,
    data: str,
    total: int,
    *,
    is_cold: bool = True,
) -> None:
    """Call a slow function, which is `is_cold` where it is hardly ever called; leave the thread if
    it faults.  Of a load, `data` is zero in lanes that are off."""
    e, lanes, what = k.e, access.address, _what(access, total)
    # In long functions all accesses are calls.  Local memory and scratch may have the index of a
    # surface, which a fault has to say.
    has_index = access.space is Space.SURFACE or access.surface != "0"
    if is_cold and what is not None and not has_index and not k.facts.is_long:
        _call_kept(k, access, function, data, total, what)
        return
    if is_cold and not access.store:
        _clear(e, data, lanes.width * access.size)
    place, mask = _stored(k, access), slow_mask(k, access.mask)
    fault = e.call(
        "i1",
        function,
        ("ptr", "%ctx"),
        ("ptr", k.site_pointer(access.site)),
        ("i64", str(access.site)),
        ("ptr", place),
        ("i64", mask),
        ("ptr", data),
        ("i64", str(lanes.width)),
        ("i64", access.surface),
        ("i64", str(total)),
    )
    k.lose(fault)


def _clear(e: Emitter, data: str, size: int) -> None:
    element = next(n for n in (4, 2, 1) if size % n == 0)
    block = vector_of(f"i{8 * element}", size // element)
    e.do(f"store {block} {'0' if size == element else 'zeroinitializer'}, ptr {data}, align 8")


def _call_kept(
    k: KernelLowering, access: CompiledAccess, function: str, data: str, total: int, what: int
) -> None:
    e, lanes = k.e, access.address
    first = equally_far(access, total)
    if lanes.width == 1:
        first = cold_vector(lanes, access.mask)
    if first is None:
        way, where = "at", e.op(f"ptrtoint ptr {_stored(k, access)} to i64")
    else:
        way, kind = "row", f"i{lanes.type.bits}"
        where = first if kind == "i64" else e.op(f"zext {kind} {first} to i64")
    e.support.setdefault("kept", KEPT)
    fault = e.call(
        f"{KEEPING} i1",
        f"kept.{way}",
        ("ptr", "%ctx"),
        ("i64", str(what)),
        ("i64", where),
        ("i64", slow_mask(k, access.mask)),
        ("ptr", data),
        ("ptr", f"@{function}"),
    )
    k.lose(fault)


def _wide(k: KernelLowering, access: CompiledAccess, addresses: str) -> str:
    """Addresses as numbers of 64 bits."""
    type, width = access.address.type, access.address.width
    if type.size == 8:
        return addresses
    return k.e.op(f"zext {lane_type(type, width)} {addresses} to {vector_of('i64', width)}")


def _stored(k: KernelLowering, access: CompiledAccess) -> str:
    """A place that all addresses are at."""
    vector = vector_of("i64", access.address.width)
    addresses = _wide(k, access, cold_vector(access.address, access.mask))
    place = k.scratchpad("addresses", vector)
    k.e.do(f"store {vector} {addresses}, ptr {place}, align 8")
    return place


def slow_mask(k: KernelLowering, mask: Lanes) -> str:
    if mask.full:
        return str((1 << mask.width) - 1)
    return regs.bits_of_mask(k.e, cold_vector(mask, mask), mask.width, 64)


def equally_far(access: CompiledAccess, total: int) -> str | None:
    """The address of the first lane, if the others follow from it and from the bytes that all lanes
    take: each is as far behind the one before."""
    lanes, form = access.address, access.address.affine
    if lanes.width == 1 or lanes.type.size not in (4, 8):
        return None
    if form is None or form.sure != "true" or form.shape.groups > 1:
        return None
    if form.shape.active and not access.mask.executing:
        return None
    step, past = divmod(total - access.size, lanes.width - 1)
    expected = tuple(step * lane for lane in range(lanes.width))
    return None if past or form.shape.offsets != expected else form.scalars[0]
