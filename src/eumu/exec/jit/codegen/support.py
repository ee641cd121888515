"""Functions that every compiled kernel may call in cold paths, as LLVM text.

`locate.*` finds the host address of one lane's access and checks it; on success the site's cache
learns the extent, so that the next access is checked in line.  `slow.*` runs an access lane by
lane and records a fault with all lanes that are outside.
"""

# ruff: noqa: E501  # lines of LLVM text

from __future__ import annotations

from eumu.addresses import BTI_SLM, SCRATCH_STATE
from eumu.exec.jit.llvm.layout import LINE, LOCAL, VOID_BYTES, WORDS, Context, FaultKind, Site
from eumu.exec.jit.llvm.words import get
from eumu.ir import Space

EXTENT = f"""
define internal {{ i64, i64 }} @extent(ptr %ctx, i64 %a) noinline {{
entry:
{get("n", Context.EXTENTS)}{get("s", Context.STARTS)}{
    get("e", Context.ENDS)
}  %starts = inttoptr i64 %s to ptr
  %ends = inttoptr i64 %e to ptr
  br label %loop
loop:
  %low = phi i64 [ 0, %entry ], [ %low.next, %step ]
  %high = phi i64 [ %n, %entry ], [ %high.next, %step ]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %step, label %found
step:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %place = getelementptr i64, ptr %starts, i64 %middle
  %start = load i64, ptr %place
  %below = icmp ule i64 %start, %a
  %after = add i64 %middle, 1
  %low.next = select i1 %below, i64 %after, i64 %low
  %high.next = select i1 %below, i64 %high, i64 %middle
  br label %loop
found:
  %none = icmp eq i64 %low, 0
  br i1 %none, label %nothing, label %check
check:
  %index = sub i64 %low, 1
  %at = getelementptr i64, ptr %starts, i64 %index
  %from = load i64, ptr %at
  %at.end = getelementptr i64, ptr %ends, i64 %index
  %to = load i64, ptr %at.end
  %inside = icmp ult i64 %a, %to
  br i1 %inside, label %yes, label %nothing
yes:
  %r = insertvalue {{ i64, i64 }} poison, i64 %from, 0
  %r2 = insertvalue {{ i64, i64 }} %r, i64 %to, 1
  ret {{ i64, i64 }} %r2
nothing:
  ret {{ i64, i64 }} zeroinitializer
}}
"""

_GOLDEN = 0x9E3779B97F4A7C15  # multiplicative hashing: 2**64 divided by the golden ratio
_SIGNATURE = "(ptr %ctx, ptr %site, i64 %surface, i64 %a, i64 %n, i64 %total, i1 %store)"


def _set(base: str, word: int, value: str) -> str:
    return (
        f"  %set{int(word)} = getelementptr i64, ptr {base}, i64 {int(word)}\n"
        f"  store i64 {value}, ptr %set{int(word)}\n"
    )


LOCATE_FLAT = f"""
define internal ptr @locate.flat{_SIGNATURE} noinline {{
{get("arena", Context.ARENA)}{get("base", Context.BASE)}  %d = sub i64 %a, %base
  %h = add i64 %arena, %d
  %pointer = inttoptr i64 %h to ptr
{get("start", Site.LANE_START, "%site")}{
    get("span", Site.LANE_SPAN, "%site")
}  %t = sub i64 %a, %start
  %hit = icmp ult i64 %t, %span
  br i1 %hit, label %yes, label %search
search:
  %found = call {{ i64, i64 }} @extent(ptr %ctx, i64 %a)
  %from = extractvalue {{ i64, i64 }} %found, 0
  %to = extractvalue {{ i64, i64 }} %found, 1
  %room = sub i64 %to, %a
  %some = icmp ne i64 %to, 0
  %fits = icmp uge i64 %room, %n
  %good = and i1 %some, %fits
  br i1 %good, label %learn, label %no
learn:
  %size = sub i64 %to, %from
  %past = add i64 %size, 1
  %lane = sub i64 %past, %n
  %large = icmp uge i64 %size, %total
  %rest = sub i64 %past, %total
  %whole = select i1 %large, i64 %rest, i64 0
{_set("%site", Site.LANE_START, "%from")}{_set("%site", Site.LANE_SPAN, "%lane")}{
    _set("%site", Site.WHOLE_START, "%from")
}{_set("%site", Site.WHOLE_SPAN, "%whole")}{get("big", Context.LARGE)}{
    get("read", Context.READ)
}  %is.big = icmp uge i64 %size, %big
  %hash = mul i64 %from, {_GOLDEN}
  %number = lshr i64 %hash, 58
  %bit = shl i64 1, %number
  %both = and i64 %read, %bit
  %unread = icmp eq i64 %both, 0
  %past.caches = and i1 %is.big, %unread
  %mask = select i1 %past.caches, i64 {LINE - 1}, i64 -1
{_set("%site", Site.CACHED, "%mask")}  br i1 %store, label %yes, label %loads
loads:
  %read.next = or i64 %read, %bit
  store i64 %read.next, ptr %read.p
  br label %yes
yes:
  ret ptr %pointer
no:
  ret ptr null
}}
"""


def _locate_small(space: Space) -> str:
    memory, is_shadow = LOCAL[space]
    base, size = WORDS[memory]
    return f"""
define internal ptr @locate.{space.value}{_SIGNATURE} alwaysinline {{
{get("base", base)}{get("size", size)}  %room = call i64 @llvm.usub.sat.i64(i64 %size, i64 %a)
  %good = icmp uge i64 %room, %n
  %from = add i64 %base, {"%size" if is_shadow else "0"}
  %h = add i64 %from, %a
  %pointer = inttoptr i64 %h to ptr
  %r = select i1 %good, ptr %pointer, ptr null
  ret ptr %r
}}
"""


LOCATE_SURFACE = f"""
define internal ptr @locate.surface{_SIGNATURE} noinline {{
entry:
{get("key", Site.SURFACE, "%site")}{get("known", Site.SURFACE_ADDRESS, "%site")}{
    get("span", Site.LANE_SPAN, "%site")
}  %wanted = add i64 %surface, 1
  %same = icmp eq i64 %key, %wanted
  %inside = icmp ult i64 %a, %span
  %hit = and i1 %same, %inside
  br i1 %hit, label %cached, label %prepare
cached:
  %h = add i64 %known, %a
  %pointer = inttoptr i64 %h to ptr
  ret ptr %pointer
prepare:
  %row = call ptr @surface.row(ptr %ctx, i64 %surface)
  %none = icmp eq ptr %row, null
  br i1 %none, label %reserved, label %found
found:
{get("arena", Context.ARENA)}{get("place", 1, "%row")}{get("size", 2, "%row")}{
    get("strict", 3, "%row")
}  %room = call i64 @llvm.usub.sat.i64(i64 %size, i64 %a)
  %good = icmp uge i64 %room, %n
  br i1 %good, label %learn, label %outside
learn:
  %past = add i64 %size, 1
  %lane = sub i64 %past, %n
  %large = icmp uge i64 %size, %total
  %rest = sub i64 %past, %total
  %whole = select i1 %large, i64 %rest, i64 0
  %address = add i64 %arena, %place
{_set("%site", Site.SURFACE, "%wanted")}{_set("%site", Site.SURFACE_ADDRESS, "%address")}{
    _set("%site", Site.LANE_SPAN, "%lane")
}{_set("%site", Site.WHOLE_SPAN, "%whole")}  %h2 = add i64 %address, %a
  %pointer2 = inttoptr i64 %h2 to ptr
  ret ptr %pointer2
outside:
  %lenient = icmp eq i64 %strict, 0
  br i1 %lenient, label %void, label %no
void:
  %zeros = getelementptr i64, ptr %ctx, i64 {int(Context.ZEROS)}
  %sink = getelementptr i64, ptr %ctx, i64 {int(Context.SINK)}
  call void @llvm.memset.p0.i64(ptr %sink, i8 0, i64 {VOID_BYTES}, i1 false)
  %r = select i1 %store, ptr %sink, ptr %zeros
  ret ptr %r
reserved:
  switch i64 %surface, label %no [
    i64 {BTI_SLM}, label %slm
    i64 {SCRATCH_STATE}, label %scratch
  ]
slm:
  %s = call ptr @locate.slm(ptr %ctx, ptr %site, i64 0, i64 %a, i64 %n, i64 %total, i1 %store)
  ret ptr %s
scratch:
  %t = call ptr @locate.scratch(ptr %ctx, ptr %site, i64 0, i64 %a, i64 %n, i64 %total, i1 %store)
  ret ptr %t
no:
  ret ptr null
}}
"""

LOCATE = {
    Space.FLAT: LOCATE_FLAT,
    Space.SURFACE: LOCATE_SURFACE,
    **{space: _locate_small(space) for space in LOCAL},
}

RECORD = f"""
define internal void @record(ptr %ctx, i64 %id, i64 %lanes, i64 %address, i64 %surface) noinline cold {{
{_set("%ctx", Context.FAULT, str(int(FaultKind.ACCESS)))}{_set("%ctx", Context.FAULT_SITE, "%id")}{
    _set("%ctx", Context.FAULT_LANES, "%lanes")
}{_set("%ctx", Context.FAULT_ADDRESS, "%address")}{
    _set("%ctx", Context.SURFACE_FAULT, "%surface")
}  ret void
}}
"""

SURFACE_ROW = f"""
define internal ptr @surface.row(ptr %ctx, i64 %surface) noinline cold {{
entry:
{get("rows", Context.SURFACES)}{get("count", Context.SURFACE_COUNT)}  %table = inttoptr i64 %rows to ptr
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %step ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %step, label %none
step:
  %row = getelementptr [4 x i64], ptr %table, i64 %k
  %index = load i64, ptr %row
  %k.next = add i64 %k, 1
  %this = icmp eq i64 %index, %surface
  br i1 %this, label %found, label %loop
found:
  ret ptr %row
none:
  ret ptr null
}}
"""

SLOW_PARAMETERS = (
    "(ptr %ctx, ptr %site, i64 %id, ptr %addresses, i64 %mask, ptr %data, i64 %width,"
    " i64 %surface, i64 %total)"
)


def lane_loop(
    name: str,
    space: Space,
    size: int,
    store: bool,
    body: str,
    fast: str = "  br label %slow\n",
    pieces: str = "",
) -> str:
    """A slow function: `body` runs per lane with ``%p`` (host address) and ``%k`` (lane).

    The body goes on from ``good`` and ends with a branch from ``done`` to ``next``.  `fast` may do
    the whole access and return, or branch to ``slow``.  `pieces` is the body of an access that ends
    outside a lenient surface, from ``pieces`` to a branch to ``next``.
    """
    return f"""
define internal i1 @{name}{SLOW_PARAMETERS} noinline #0 {{
entry:
{fast}slow:
  br label %loop
loop:
  %m = phi i64 [ %mask, %slow ], [ %m.next, %next ]
  %bad = phi i64 [ 0, %slow ], [ %bad.next, %next ]
  %where = phi i64 [ 0, %slow ], [ %where.next, %next ]
  %some = icmp ne i64 %m, 0
  br i1 %some, label %lane, label %end
lane:
  %k = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %m.less = sub i64 %m, 1
  %m.next = and i64 %m, %m.less
  %place = getelementptr i64, ptr %addresses, i64 %k
  %a = load i64, ptr %place
  %p = call ptr @locate.{space.value}(ptr %ctx, ptr %site, i64 %surface, i64 %a, i64 {size}, i64 %total, i1 {"true" if store else "false"})
  %outside = icmp eq ptr %p, null
  br i1 %outside, label %miss, label %good
miss:
  %bit = shl i64 1, %k
  %bad.more = or i64 %bad, %bit
  %first = icmp eq i64 %bad, 0
  %where.here = select i1 %first, i64 %a, i64 %where
  br label %next
good:
{_PARTLY if pieces else ""}{body}{pieces}next:
  %bad.next = phi i64 [ %bad.more, %miss ], [ %bad, %done ]{", [ %bad, %pieces.end ]" if pieces else ""}
  %where.next = phi i64 [ %where.here, %miss ], [ %where, %done ]{", [ %where, %pieces.end ]" if pieces else ""}
  br label %loop
end:
  %fault = icmp ne i64 %bad, 0
  br i1 %fault, label %report, label %out
report:
  call void @record(ptr %ctx, i64 %id, i64 %bad, i64 %where, i64 %surface)
  br label %out
out:
  ret i1 %fault
}}
"""


# Whether a lane's access has led nowhere: then some of its elements may lie inside all the same.
_PARTLY = f"""  %zeros.p = getelementptr i64, ptr %ctx, i64 {int(Context.ZEROS)}
  %sink.p = getelementptr i64, ptr %ctx, i64 {int(Context.SINK)}
  %is.zeros = icmp eq ptr %p, %zeros.p
  %is.sink = icmp eq ptr %p, %sink.p
  %is.void = or i1 %is.zeros, %is.sink
  br i1 %is.void, label %pieces, label %whole
whole:
"""


def pieces(bits: int, count: int, *, store: bool, block: bool) -> str:
    """Copy the elements of a lane, or of a block, one by one: each is inside a lenient surface or
    leads nowhere."""
    size = bits // 8
    at = ("mul i64 %j, %width", "%k") if not block else ("mul i64 %j, 1", "0")
    return f"""pieces:
  %its.row = call ptr @surface.row(ptr %ctx, i64 %surface)
{get("its.place", 1, "%its.row")}{get("its.size", 2, "%its.row")}{
        get("its.arena", Context.ARENA)
    }  br label %piece
piece:
  %j = phi i64 [ 0, %pieces ], [ %j.next, %piece ]
  %j.bytes = mul i64 %j, {size}
  %j.at = add i64 %a, %j.bytes
  %j.left = call i64 @llvm.usub.sat.i64(i64 %its.size, i64 %j.at)
  %j.held = icmp uge i64 %j.left, {size}
  %j.place = add i64 %its.place, %j.at
  %j.host = add i64 %its.arena, %j.place
  %j.there = inttoptr i64 %j.host to ptr
  %j.to = select i1 %j.held, ptr %j.there, ptr %p
  %j.row = {at[0]}
  %j.n = add i64 %j.row, {at[1]}
  %j.from = getelementptr i{bits}, ptr %data, i64 %j.n
  %j.x = load i{bits}, ptr {"%j.from" if store else "%j.to"}, align 1
  store i{bits} %j.x, ptr {"%j.to" if store else "%j.from"}, align 1
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, {count}
  br i1 %j.more, label %piece, label %pieces.end
pieces.end:
  br label %next
"""


def load_body(bits: int, count: int) -> str:
    """Copy `count` elements of a lane to data[element * width + lane]."""
    return _copy(bits, count, "%p", "%q")


def store_body(bits: int, count: int) -> str:
    """Copy `count` elements of a lane from data[element * width + lane]."""
    return _copy(bits, count, "%q", "%p")


def block_body(size: int, *, store: bool) -> str:
    """Copy the bytes of the only lane to data or from there."""
    target, source = ("%p", "%data") if store else ("%data", "%p")
    return f"""  br label %done
done:
  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)
  br label %next
"""


def _copy(bits: int, count: int, source: str, target: str) -> str:
    lines = ["  br label %done", "done:"]
    for v in range(count):
        lines += [
            f"  %row{v} = mul i64 %width, {v}",
            f"  %i{v} = add i64 %row{v}, %k",
            f"  %q{v} = getelementptr i{bits}, ptr %data, i64 %i{v}",
            f"  %p{v} = getelementptr i{bits}, ptr %p, i64 {v}",
            f"  %x{v} = load i{bits}, ptr {source}{v}, align 1",
            f"  store i{bits} %x{v}, ptr {target}{v}, align 1",
        ]
    return "\n".join([*lines, "  br label %next", ""])


def register_locate(roots: list[tuple[int, int, int]]) -> str:
    """``ptr @register.locate(rec, address, size)``; roots are (address, size, record offset)."""
    lines = ["define internal ptr @register.locate(ptr %rec, i64 %a, i64 %n) {", "entry:"]
    for k, (address, size, place) in enumerate(roots):
        lines += [
            f"  %d{k} = sub i64 %a, {address}",
            f"  %room{k} = sub i64 {size}, %d{k}",
            f"  %in{k} = icmp ult i64 %d{k}, {size}",
            f"  %fits{k} = icmp uge i64 %room{k}, %n",
            f"  %ok{k} = and i1 %in{k}, %fits{k}",
            f"  br i1 %ok{k}, label %yes{k}, label %no{k}",
            f"yes{k}:",
            f"  %place{k} = add i64 %d{k}, {place}",
            f"  %p{k} = getelementptr i8, ptr %rec, i64 %place{k}",
            f"  ret ptr %p{k}",
            f"no{k}:",
        ]
    return "\n".join([*lines, "  ret ptr null", "}", ""])


def register_loop(name: str, size: int, store: bool) -> str:
    """``i64 @name(ctx, rec, places, mask, data)``: copy elements, return the lanes that are outside.

    Those are not touched, neither in the record nor in the data.
    """
    source, target = ("%q", "%p") if store else ("%p", "%q")
    return f"""
define internal i64 @{name}(ptr %ctx, ptr %rec, ptr %places, i64 %mask, ptr %data) noinline {{
entry:
  br label %loop
loop:
  %m = phi i64 [ %mask, %entry ], [ %m.next, %next ]
  %bad = phi i64 [ 0, %entry ], [ %bad.next, %next ]
  %some = icmp ne i64 %m, 0
  br i1 %some, label %lane, label %end
lane:
  %k = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %m.less = sub i64 %m, 1
  %m.next = and i64 %m, %m.less
  %place = getelementptr i64, ptr %places, i64 %k
  %a = load i64, ptr %place
  %p = call ptr @register.locate(ptr %rec, i64 %a, i64 {size})
  %outside = icmp eq ptr %p, null
  br i1 %outside, label %miss, label %good
miss:
  %bit = shl i64 1, %k
  %bad.more = or i64 %bad, %bit
  br label %next
good:
  %q = getelementptr i{size * 8}, ptr %data, i64 %k
  %x = load i{size * 8}, ptr {source}, align 1
  store i{size * 8} %x, ptr {target}, align 1
  br label %next
next:
  %bad.next = phi i64 [ %bad.more, %miss ], [ %bad, %good ]
  br label %loop
end:
  ret i64 %bad
}}
"""
