"""The middle rung of the ladder: each executing lane in the extent that the site saw last.

What a slow function starts with.  It gives up, and leaves the access to the lane loop, when
some executing lane is outside that extent.  With vectors of 512 bits all lanes are checked and
gathered at once; without, a short loop over the executing lanes is faster.
"""

from __future__ import annotations

from eumu.exec.jit.llvm.emit import Emitter, mangle, vector_literal, vector_of
from eumu.exec.jit.llvm.layout import LOCAL, WORDS, Context, SiteWord
from eumu.ir import Space


def _word(e: Emitter, base: str, word: int) -> str:
    return e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {base}, i64 {int(word)}')}")


def _bounds(e: Emitter, space: Space, size: int) -> tuple[str, str, str, str]:
    """First address, span (0: nothing fits), host address of address 0, and a condition."""
    if space in LOCAL:
        memory, is_shadow = LOCAL[space]
        place, limit = WORDS[memory]
        limit_value = _word(e, "%ctx", limit)
        room = e.op(f"add i64 {limit_value}, {1 - size}")
        span = e.op(f"call i64 @llvm.smax.i64(i64 {room}, i64 0)")
        e.declarations["llvm.smax.i64"] = "declare i64 @llvm.smax.i64(i64, i64)"
        origin = _word(e, "%ctx", place)
        if is_shadow:
            origin = e.op(f"add i64 {origin}, {limit_value}")
        return "0", span, origin, "true"
    span = _word(e, "%site", SiteWord.LANE_SPAN)
    if space is Space.FLAT:
        arena, base = (_word(e, "%ctx", w) for w in (Context.ARENA, Context.BASE))
        origin = e.op(f"sub i64 {arena}, {base}")
        return _word(e, "%site", SiteWord.LANE_START), span, origin, "true"
    wanted = e.op("add i64 %surface, 1")
    same = e.op(f"icmp eq i64 {_word(e, '%site', SiteWord.SURFACE)}, {wanted}")
    return "0", span, _word(e, "%site", SiteWord.SURFACE_ADDRESS), same


def lane_part(e: Emitter, *, space: Space, bits: int, count: int, width: int, store: bool) -> None:
    """For `lane_loop`: the whole access lane by lane, or a branch to ``slow``."""
    start, span, origin, condition = _bounds(e, space, bits // 8 * count)
    entry = e.name("quick")
    e.do(f"br i1 {condition}, label %{entry}, label %slow")
    e.label(entry)
    e.do("br label %quick.next")
    e.label("quick.next")
    e.do(f"%left = phi i64 [ %mask, %{entry} ], [ %left.less, %quick.move ]")
    some = e.op("icmp ne i64 %left, 0")
    e.do(f"br i1 {some}, label %quick.lane, label %quick.end")
    e.label("quick.lane")
    lane = e.op("call i64 @llvm.cttz.i64(i64 %left, i1 true)")
    less = e.op("sub i64 %left, 1")
    e.do(f"%left.less = and i64 %left, {less}")
    address = e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr %addresses, i64 {lane}')}")
    distance = e.op(f"sub i64 {address}, {start}")
    inside = e.op(f"icmp ult i64 {distance}, {span}")
    e.do(f"br i1 {inside}, label %quick.move, label %slow, !prof !1")
    e.label("quick.move")
    memory = e.op(f"inttoptr i64 {e.op(f'add i64 {origin}, {address}')} to ptr")
    for v in range(count):
        there = e.op(f"getelementptr i{bits}, ptr {memory}, i64 {v}")
        here = e.op(f"getelementptr i{bits}, ptr %data, i64 {v * width}")
        here = e.op(f"getelementptr i{bits}, ptr {here}, i64 {lane}")
        source, target = (here, there) if store else (there, here)
        value = e.op(f"load i{bits}, ptr {source}, align 1")
        e.do(f"store i{bits} {value}, ptr {target}, align 1")
    e.do("br label %quick.next")
    e.label("quick.end")
    e.do("ret i1 false")


def fast_part(e: Emitter, *, space: Space, bits: int, count: int, width: int, store: bool) -> None:
    """For `lane_loop`: the whole access at once, or a branch to ``slow``."""
    start, span, origin, condition = _bounds(e, space, bits // 8 * count)
    words, lanes = vector_of("i64", width), vector_of("i1", width)
    addresses = e.op(f"load {words}, ptr %addresses, align 8")
    narrow = e.op(f"trunc i64 %mask to i{width}") if width < 64 else "%mask"
    mask = e.op(f"bitcast i{width} {narrow} to {lanes}")
    first = e.splat(start, "i64", width) if start != "0" else ""
    distance = e.op(f"sub {words} {addresses}, {first}") if first else addresses
    inside = e.op(f"icmp ult {words} {distance}, {e.splat(span, 'i64', width)}")
    off = e.op(f"xor {lanes} {mask}, {vector_literal('i1', ['true'] * width)}")
    fine = e.op(f"or {lanes} {inside}, {off}")
    packed = e.op(f"bitcast {lanes} {fine} to i{width}")
    every = e.op(f"icmp eq i{width} {packed}, -1")
    good = e.op(f"and i1 {every}, {condition}")
    e.do(f"br i1 {good}, label %fast, label %slow")
    e.label("fast")
    places = e.op(f"add {words} {addresses}, {e.splat(origin, 'i64', width)}")
    # Lanes that are off go to a word that nobody reads (or that is always zero).
    void = e.op(f"getelementptr i64, ptr %ctx, i64 {int(Context.SINK if store else Context.ZEROS)}")
    nowhere = e.splat(e.op(f"ptrtoint ptr {void} to i64"), "i64", width)
    safe = e.op(f"select {lanes} {mask}, {words} {places}, {words} {nowhere}")
    pointers = e.op(f"inttoptr {words} {safe} to {vector_of('ptr', width)}")
    for v in range(count):
        _element(e, pointers, bits, v, width, store)
    e.do("ret i1 false")


def _element(e: Emitter, pointers: str, bits: int, v: int, width: int, store: bool) -> None:
    scalar, vector = f"i{bits}", vector_of(f"i{bits}", width)
    kind, ones = vector_of("ptr", width), vector_literal("i1", ["true"] * width)
    at = pointers
    if v:
        at = e.op(f"getelementptr {scalar}, {kind} {pointers}, i64 {v}")
    place = e.op(f"getelementptr {vector}, ptr %data, i64 {v}")
    name = f"llvm.masked.{'scatter' if store else 'gather'}.{mangle(vector)}.v{width}p0"
    lanes = vector_of("i1", width)
    if store:
        e.declarations[name] = f"declare void @{name}({vector}, {kind}, {lanes})"
        data = (
            e.op(f"load {vector}, ptr %data, align 1")
            if v == 0
            else e.op(f"load {vector}, ptr {place}, align 1")
        )
        e.do(f"call void @{name}({vector} {data}, {kind} align 1 {at}, {lanes} {ones})")
        return
    e.declarations[name] = f"declare {vector} @{name}({kind}, {lanes}, {vector})"
    result = e.op(
        f"call {vector} @{name}({kind} align 1 {at}, {lanes} {ones}, {vector} zeroinitializer)"
    )
    e.do(f"store {vector} {result}, ptr {place}, align 1")
