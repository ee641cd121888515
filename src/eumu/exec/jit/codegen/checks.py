"""Where lanes access memory, and whether they may: the check of all lanes at once.

An affine form known at compile time costs one compare a group; else lanes are compared at run
time with consecutive addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from eumu.exec.jit.codegen import fetching, support
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.access import CompiledAccess
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.emit import Emitter, lane_type, scalar_type, vector_literal
from eumu.exec.jit.llvm.lanes import AffineForm, Lanes, Shape
from eumu.exec.jit.llvm.layout import LOCAL, SiteWord
from eumu.ir import Space


def affine_form_of(k: KernelLowering, access: CompiledAccess) -> AffineForm:
    """The addresses' affine form, tested at run time if nothing is known."""
    lanes = access.address
    affine = lanes.affine
    if affine is not None and (not affine.shape.active or access.mask.executing):
        return affine
    e, width = k.e, lanes.width
    offsets = tuple(j * access.size for j in range(width))
    scalar, vector = scalar_type(lanes.type), lane_type(lanes.type, width)
    addresses = lanes.get()
    head = e.shuffle(addresses, scalar, width, [0])
    distance = vector_literal(scalar, [str(o) for o in offsets])
    expected = e.op(f"add {vector} {e.splat(head, scalar, width)}, {distance}")
    same = e.op(f"icmp eq {vector} {addresses}, {expected}")
    bits = regs.bits_of_mask(e, same, width, width)
    if not access.mask.full:
        off = e.op(f"xor i{width} {mask_word(k, access.mask)}, -1")
        bits = e.op(f"or i{width} {bits}, {off}")
    sure = e.op(f"icmp eq i{width} {bits}, -1")
    return AffineForm(Shape(1, offsets, certain=False), (head,), sure)


def mask_word(k: KernelLowering, mask: Lanes) -> str:
    """A mask as an integer with one bit a lane."""
    return regs.bits_of_mask(k.e, mask.get(), mask.width, mask.width)


def heads(k: KernelLowering, access: CompiledAccess, affine: AffineForm) -> list[str]:
    """Each group's scalar address as i64."""
    if access.address.type.size == 8:
        return list(affine.scalars)
    kind = scalar_type(access.address.type)
    return [k.e.op(f"zext {kind} {s} to i64") for s in affine.scalars]


def reach(access: CompiledAccess, shape: Shape) -> tuple[int, int]:
    """Least offset in a group and bytes from there to its last byte."""
    low = min(shape.offsets)
    return low, max(shape.offsets) - low + access.size


def check(
    k: KernelLowering,
    access: CompiledAccess,
    affine: AffineForm,
    addresses: list[str],
    span_word: SiteWord = SiteWord.WHOLE_SPAN,
) -> tuple[str, str]:
    """Emit the in-line check; an i1 and the host address that offsets count from."""
    e, (low, total) = k.e, reach(access, affine.shape)
    sure, start = affine.sure, "0"
    if access.space in LOCAL:
        span = str(max(0, local_bytes(k, access.space) - total + 1))
    else:
        site = k.site_pointer(access.site)
        span = _site_word(e, site, span_word)
        if access.space is Space.FLAT:
            start = _site_word(e, site, SiteWord.WHOLE_START)
        else:
            key = _site_word(e, site, SiteWord.SURFACE)
            wanted = e.op(f"add i64 {access.surface}, 1")
            sure = conjunction(e, sure, e.op(f"icmp eq i64 {key}, {wanted}"))
    for address in addresses:
        first = e.op(f"add i64 {address}, {low}") if low else address
        distance = e.op(f"sub i64 {first}, {start}") if start != "0" else first
        sure = conjunction(e, sure, e.op(f"icmp ult i64 {distance}, {span}"))
    return sure, origin(k, access)


def extent(k: KernelLowering, access: CompiledAccess) -> tuple[str, str]:
    """Where the extent of global memory begins that a site knows, and from how many bytes on what
    it accesses begins."""
    site = k.site_pointer(access.site)
    start, span = (_site_word(k.e, site, w) for w in (SiteWord.WHOLE_START, SiteWord.WHOLE_SPAN))
    return start, span


def origin(k: KernelLowering, access: CompiledAccess) -> str:
    """The host address that the offsets of an access count from."""
    e = k.e
    if access.space in LOCAL:
        memory, is_shadow = LOCAL[access.space]
        base = f"%{memory.value}"
        if is_shadow:  # it lies behind what it is about
            base = e.op(f"getelementptr i8, ptr {base}, i64 {local_bytes(k, access.space)}")
        return base
    if access.space is Space.FLAT:
        return "%flat"
    place = _site_word(e, k.site_pointer(access.site), SiteWord.SURFACE_ADDRESS)
    return e.op(f"inttoptr i64 {place} to ptr")


def local_bytes(k: KernelLowering, space: Space) -> int:
    """The size of a memory that is no device memory."""
    return k.slm_bytes if LOCAL[space][0] is Space.SLM else k.scratch_bytes


def ways_inside(
    k: KernelLowering, access: CompiledAccess, affine: AffineForm, addresses: list[str], slow: str
) -> Iterator[str]:
    """The ways on which all lanes of a load are inside: the host address that offsets count from.

    After each the caller leaves the way.  What is not inside goes to the label `slow`.
    """
    e, fast = k.e, k.e.name("fast")
    if affine.sure != "true":  # by itself: what tests a vector is then no number
        sure = e.name("sure")
        e.do(f"br i1 {affine.sure}, label %{sure}, label %{slow}, !prof !1")
        e.label(sure)
        affine = AffineForm(affine.shape, affine.scalars)
    low, total = reach(access, affine.shape)
    fetches = len(addresses) == 1 and fetching.is_worth_it(k, access, total)
    if fetches:
        ok, base = check(k, access, affine, addresses, SiteWord.SMALL_SPAN)
        small, other = e.name("small"), e.name("other")
        e.do(f"br i1 {ok}, label %{small}, label %{other}, !prof !1")
        e.label(small)
        yield base
        e.label(other)
    ok, base = check(k, access, affine, addresses)
    e.do(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    if fetches:
        place = e.op(f"getelementptr i8, ptr {base}, i64 {addresses[0]}")
        fetching.fetch(k, access, e.op(f"getelementptr i8, ptr {place}, i64 {low}"), total)
    yield base


def is_expected(k: KernelLowering, access: CompiledAccess) -> bool:
    """Whether an access follows its affine form, or may else make the thread begin again."""
    is_affine = access.address.affine is not None and access.space is not Space.SURFACE
    return k.is_assured or (is_affine and k.may_restart)


def require(
    k: KernelLowering, access: CompiledAccess, affine: AffineForm, addresses: list[str]
) -> str:
    """Begin again unless all lanes may access what they want; the address offsets count from.

    What was checked before the block needs nothing.
    """
    if k.is_assured:
        return origin(k, access)
    e, on, miss = k.e, k.e.name("on"), k.e.name("miss")
    restart_unless(k, affine.sure)  # by itself, so that it is known from here on
    affine = AffineForm(affine.shape, affine.scalars)
    ok, base = check(k, access, affine, addresses)
    e.do(f"br i1 {ok}, label %{on}, label %{miss}, !prof !1")
    e.label(miss)
    if access.space is Space.FLAT:
        learn(k, access, affine.shape, addresses)
    if access.space is Space.FLAT and not k.leaves_to_learn:
        ok, _ = check(k, access, affine, addresses)
        e.do(f"br i1 {ok}, label %{on}, label %again, !prof !1")
    else:
        e.do("br label %again")
    e.label(on)
    return base


def learn(k: KernelLowering, access: CompiledAccess, shape: Shape, addresses: list[str]) -> None:
    """Let a site of global memory know the extents that its check is to compare with."""
    need_locate(k, access.space)
    e, site, (low, total) = k.e, k.site_pointer(access.site), reach(access, shape)
    for address in addresses:
        first = e.op(f"add i64 {address}, {low}")
        e.op(
            f"call ptr @locate.flat(ptr %ctx, ptr {site}, i64 0, i64 {first},"
            f" i64 {access.size}, i64 {total}, i1 {'true' if access.store else 'false'})"
        )


def restart_unless(k: KernelLowering, condition: str) -> None:
    """Begin again with the complete version, or go on."""
    if condition != "true":
        on = k.e.name("on")
        k.e.do(f"br i1 {condition}, label %{on}, label %again, !prof !1")
        k.e.label(on)


def need_locate(k: KernelLowering, space: Space) -> None:
    """Define what finds extents."""
    k.e.support.setdefault("extent", support.EXTENT)
    if space is Space.SURFACE:
        k.e.support.setdefault("surface.row", support.SURFACE_ROW)
    k.e.support.setdefault(f"locate.{space.value}", support.LOCATE[space])


def _site_word(e: Emitter, site: str, word: int) -> str:
    return e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {site}, i64 {int(word)}')}")


def conjunction(e: Emitter, a: str, b: str) -> str:
    return b if a == "true" else e.op(f"and i1 {a}, {b}")
