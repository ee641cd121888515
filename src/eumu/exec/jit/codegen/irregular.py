"""Accesses whose lanes are not affine, in line: all lanes checked, then gathered or scattered.

For processors with vectors of 512 bits.  What is not in the extent that the site saw last (or in
local memory) is left to the slow functions, and so is what has no such instruction.
"""

from __future__ import annotations

from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.access import CompiledAccess, cold_vector
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.emit import lane_type, mangle, vector_literal, vector_of
from eumu.exec.jit.llvm.layout import LOCAL, SiteWord
from eumu.ir import Space
from eumu.records import dataclass
from eumu.types import Type

LEAST_LANES = 8  # lanes


@dataclass(frozen=True, slots=True)
class Places:
    """Pointers of all lanes, the mask of those to access, and an i1: all of these are inside."""

    inside: str
    pointers: str
    mask: str
    is_full: bool  # the mask has all lanes


def can_gather(k: KernelLowering, access: CompiledAccess) -> bool:
    """Whether a load may be in line."""
    has_extent = access.space in LOCAL or access.space is Space.FLAT
    return k.gathers and has_extent and access.address.width >= LEAST_LANES


def is_rare(k: KernelLowering, access: CompiledAccess) -> bool:
    """Whether lanes are affine unless numbers wrap around.

    What is not inside is then left to the slow functions, which begin with the same and are no code
    of the kernel.  Where the form is a guess, other lanes may come each time.
    """
    form = access.address.affine
    if form is None:
        return False
    return not form.shape.active or (access.mask.executing and not k.guesses)


def can_scatter(k: KernelLowering, access: CompiledAccess, type: Type) -> bool:
    """Whether a store of an element or a pair a lane may be in line; lanes come in their order."""
    fits = type.size >= 4 or (type.size == 1 and access.mask.full)
    return can_gather(k, access) and fits and access.size in (type.size, _pair(type))


def _pair(type: Type) -> int:
    """The bytes of two dwords, which are accessed as one; 0 of other elements."""
    return 8 if type.size == 4 else 0


def places(k: KernelLowering, access: CompiledAccess) -> Places:
    """Check all lanes; to be called in the path that is taken without an affine form."""
    e, width = k.e, access.address.width
    addresses = cold_vector(access.address, access.mask)
    kind = lane_type(access.address.type, width)
    scalar = f"i{access.address.type.bits}"
    if access.space in LOCAL:
        memory, is_shadow = LOCAL[access.space]
        size = k.slm_bytes if memory is Space.SLM else k.scratch_bytes
        span = vector_literal(scalar, [str(max(0, size - access.size + 1))] * width)
        distance, base = addresses, f"%{memory.value}"
        if is_shadow:
            base = e.op(f"getelementptr i8, ptr {base}, i64 {size}")
        # Processors take signed offsets of 32 bits as they are; larger memory has larger ones.
        extend = "sext" if size < 1 << (access.address.type.bits - 1) else "zext"
        wide = e.op(f"{extend} {kind} {addresses} to {vector_of('i64', width)}")
    else:
        site = k.site_pointer(access.site)
        start, limit = (
            e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {site}, i64 {int(word)}')}")
            for word in (SiteWord.LANE_START, SiteWord.LANE_SPAN)
        )
        distance = e.op(f"sub {kind} {addresses}, {e.splat(start, scalar, width)}")
        span, base, wide = e.splat(limit, scalar, width), "%flat", addresses
    mask = "true"
    bits = regs.bits_of_mask(e, e.op(f"icmp ult {kind} {distance}, {span}"), width, width)
    if access.mask.full:
        mask = vector_literal("i1", ["true"] * width)
    else:
        mask = cold_vector(access.mask, access.mask)
        off = e.op(f"xor i{width} {regs.bits_of_mask(e, mask, width, width)}, -1")
        bits = e.op(f"or i{width} {bits}, {off}")
    inside = e.op(f"icmp eq i{width} {bits}, -1")
    pointers = e.op(f"getelementptr i8, ptr {base}, {vector_of('i64', width)} {wide}")
    return Places(inside, pointers, mask, access.mask.full)


def gather(k: KernelLowering, at: Places, type: Type, count: int, width: int) -> list[str]:
    """`count` vectors of elements; 0 in lanes that are off.

    Of words the whole dword is read: behind all memory there are bytes to read.
    """
    if type.size == 1 and at.is_full:
        return [_bytes(k, at, type, width, v) for v in range(count)]
    if count == 2 and _pair(type):
        return _pairs(k, at, type, width)
    e, bits = k.e, max(32, type.bits)
    vector, kind, flags = vector_of(f"i{bits}", width), vector_of("ptr", width), f"<{width} x i1>"
    name = f"llvm.masked.gather.{mangle(vector)}.v{width}p0"
    e.declarations[name] = f"declare {vector} @{name}({kind}, {flags}, {vector})"
    results = []
    for v in range(count):
        pointers = at.pointers
        if v:
            pointers = e.op(f"getelementptr i8, {kind} {pointers}, i64 {v * type.size}")
        values = e.op(
            f"call {vector} @{name}({kind} align 1 {pointers}, {flags} {at.mask},"
            f" {vector} zeroinitializer)"
        )
        if type.bits < bits:
            values = e.op(f"trunc {vector} {values} to {vector_of(f'i{type.bits}', width)}")
        results.append(e.bitcast(values, vector_of(f"i{type.bits}", width), lane_type(type, width)))
    return results


def _pairs(k: KernelLowering, at: Places, type: Type, width: int) -> list[str]:
    """Two dwords in each lane: an instruction gathers as many words of 64 bits as dwords."""
    e, whole, dwords = k.e, vector_of("i64", width), vector_of("i32", 2 * width)
    kind, flags = vector_of("ptr", width), f"<{width} x i1>"
    name = f"llvm.masked.gather.{mangle(whole)}.v{width}p0"
    e.declarations[name] = f"declare {whole} @{name}({kind}, {flags}, {whole})"
    pairs = e.op(
        f"call {whole} @{name}({kind} align 1 {at.pointers}, {flags} {at.mask},"
        f" {whole} zeroinitializer)"
    )
    pairs = e.bitcast(pairs, whole, dwords)
    parts = (
        e.shuffle(pairs, "i32", 2 * width, [2 * lane + v for lane in range(width)]) for v in (0, 1)
    )
    return [e.bitcast(x, vector_of("i32", width), lane_type(type, width)) for x in parts]


def _bytes(k: KernelLowering, at: Places, type: Type, width: int, element: int) -> str:
    """Load a byte in each lane: a dword would wait until bytes stored in it are in the cache."""
    e, vector, result = k.e, lane_type(type, width), "poison"
    for lane in range(width):
        pointer = e.op(f"extractelement {vector_of('ptr', width)} {at.pointers}, i64 {lane}")
        if element:
            pointer = e.op(f"getelementptr i8, ptr {pointer}, i64 {element}")
        byte = e.op(f"load i8, ptr {pointer}, align 1")
        result = e.op(f"insertelement {vector} {result}, i8 {byte}, i64 {lane}")
    return result


def scatter(k: KernelLowering, at: Places, type: Type, width: int, values: list[str]) -> None:
    """Store an element in each lane, or a pair: then all of a lane comes before the next lane."""
    e, kind = k.e, vector_of("ptr", width)
    if type.size == 1:
        for lane in range(width):
            pointer = e.op(f"extractelement {kind} {at.pointers}, i64 {lane}")
            one = e.op(f"extractelement {vector_of('i8', width)} {values[0]}, i64 {lane}")
            e.do(f"store i8 {one}, ptr {pointer}, align 1")
        return
    bits, flags = type.bits * len(values), f"<{width} x i1>"
    vector = vector_of(f"i{bits}", width)
    name = f"llvm.masked.scatter.{mangle(vector)}.v{width}p0"
    e.declarations[name] = f"declare void @{name}({vector}, {kind}, {flags})"
    data = [e.bitcast(x, lane_type(type, width), vector_of(f"i{type.bits}", width)) for x in values]
    if len(data) == 2:
        order = [lane + v * width for lane in range(width) for v in (0, 1)]
        mixed = e.blend(data[0], data[1], f"i{type.bits}", width, order)
        data = [e.bitcast(mixed, vector_of(f"i{type.bits}", 2 * width), vector)]
    e.do(f"call void @{name}({vector} {data[0]}, {kind} align 1 {at.pointers}, {flags} {at.mask})")
