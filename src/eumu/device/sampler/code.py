"""LLVM text of compiled answers: ``i32 run(descriptor, data)``, 0 when it has answered.

Coordinates are computed for all lanes at once; then each lane fetches its texels, four channels
at a time.  The arithmetic is the model's, operation by operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Code", "loads", "samples", "stores"]

_BYTES: Final = {"rgba8": 4, "bgra8": 4, "rgba32f": 16, "r32f": 4}
_V4: Final = "<4 x float>"
_SWAP: Final = "<4 x i32> <i32 2, i32 1, i32 0, i32 3>"
# Offsets in the descriptor (eumu.device.sampler.compiled).
_BASE, _PITCH, _SIZE, _SIZES, _BORDER = 16, 24, 32, 40, 48


@dataclass(slots=True)
class Code:
    """One function in the making; `arguments` are byte offsets in the data, the mask first."""

    lanes: int
    format: str
    arguments: Sequence[int]
    results: Sequence[int]
    channels: Sequence[int]
    lines: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    count: int = 0

    def op(self, text: str) -> str:
        """A value."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def call(self, type: str, name: str, *args: str) -> str:
        """An intrinsic on arguments of one type."""
        suffix = type.strip("<>").replace("float", "f32").replace("double", "f64")
        suffix = "v" + suffix.replace(" x ", "") if "x" in type else suffix
        self.declared.add(f"declare {type} @llvm.{name}.{suffix}({', '.join([type] * len(args))})")
        given = ", ".join(f"{type} {a}" for a in args)
        return self.op(f"call {type} @llvm.{name}.{suffix}({given})")

    def at(self, pointer: str, offset: int) -> str:
        return self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, type: str, pointer: str, offset: int) -> str:
        return self.op(f"load {type}, ptr {self.at(pointer, offset)}, align 1")

    @property
    def floats(self) -> str:
        return f"<{self.lanes} x float>"

    @property
    def ints(self) -> str:
        return f"<{self.lanes} x i32>"

    def splat(self, type: str, value: str) -> str:
        """A scalar in every lane."""
        scalar = type.strip("<>").split(" x ")[1]
        first = self.op(f"insertelement {type} poison, {scalar} {value}, i32 0")
        return self.op(
            f"shufflevector {type} {first}, {type} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def number(self, value: float) -> str:
        """A constant in every lane."""
        return f"splat (float {value!r})"

    def text(self) -> str:
        declarations = "\n".join(sorted(self.declared))
        body = "\n".join(self.lines)
        return f"{declarations}\ndefine i32 @run(ptr %desc, ptr %data) #0 {{\nentry:\n{body}\n}}\n"


def _begin(c: Code, keys: Sequence[tuple[int, int]]) -> None:
    """Leave with 1 unless the message is for the descriptor: (offset in it, offset in data)."""
    same = "true"
    for mine, given in keys:
        known, found = c.load("i32", "%desc", mine), c.load("i32", "%data", given)
        equal = c.op(f"icmp eq i32 {known}, {found}")
        same = c.op(f"and i1 {same}, {equal}")
    c.do(f"br i1 {same}, label %mine, label %other")
    c.label("other")
    c.do("ret i32 1")
    c.label("mine")
    for name, type, offset in (("base", "ptr", _BASE), ("pitch", "i64", _PITCH)):
        c.do(f"%{name} = load {type}, ptr {c.at('%desc', offset)}, align 8")


def _keys(c: Code, *, uses_sampler: bool, has_header: bool) -> tuple[list[tuple[int, int]], int]:
    """The keys of a sampler message, and which argument is its first parameter."""
    keys, n = [(0, c.arguments[1])], 2
    if uses_sampler:
        keys.append((4, c.arguments[n]))
        n += 1
    if has_header:
        keys += [(8, c.arguments[n] + 8), (12, c.arguments[n] + 12)]
        n += 1
    return keys, n


# ---- coordinates


@dataclass(frozen=True, slots=True)
class _Taps:
    """Vectors of a dimension: indices, masks of those inside (nothing: all), weight."""

    indices: tuple[str, ...]
    inside: tuple[str, ...]
    weight: str


def _taps(
    c: Code, u: str, k: int, mode: str, *, linear: bool, rounded: bool, normalized: bool
) -> _Taps:
    """The texels that a coordinate means, as `eumu.device.sampler.addressing` has it."""
    f, i = c.floats, c.ints
    size = c.splat(f, c.load("float", "%desc", _SIZES + 4 * k))
    count = c.splat(i, c.load("i32", "%desc", _SIZE + 4 * k))
    ordered = c.op(f"fcmp ord {f} {u}, {u}")
    u = c.op(f"select <{c.lanes} x i1> {ordered}, {f} {u}, {f} zeroinitializer")
    far = 1073741824.0
    u = c.call(f, "minnum", c.call(f, "maxnum", u, c.number(-far)), c.number(far))
    if normalized:
        if mode == "wrap":
            u = c.op(f"fsub {f} {u}, {c.call(f, 'floor', u)}")
        elif mode == "mirror":
            half = c.op(f"fmul {f} {u}, {c.number(0.5)}")
            whole = c.op(f"fmul {f} {c.call(f, 'rint', half)}, {c.number(2.0)}")
            u = c.call(f, "fabs", c.op(f"fsub {f} {u}, {whole}"))
        u = c.op(f"fmul {f} {u}, {size}")
    # Nothing changes beyond a texel outside, and integers of 32 bits are enough.
    high = c.op(f"fadd {f} {size}, {c.number(4.0)}")
    u = c.call(f, "minnum", c.call(f, "maxnum", u, c.number(-4.0)), high)
    u = c.op(f"fmul {f} {u}, {c.number(256.0)}")
    if rounded:
        u = c.op(f"fadd {f} {u}, {c.number(0.5)}")
    fixed = c.op(f"fptosi {f} {c.call(f, 'floor', u)} to {i}")
    weight = ""
    if linear:
        fixed = c.op(f"sub {i} {fixed}, splat (i32 128)")
        low = c.op(f"and {i} {fixed}, splat (i32 255)")
        weight = c.op(f"fmul {f} {c.op(f'uitofp {i} {low} to {f}')}, {c.number(1 / 256)}")
    first = c.op(f"ashr {i} {fixed}, splat (i32 8)")
    both = [first]
    if linear:
        both.append(c.op(f"add {i} {first}, splat (i32 1)"))
    found = [_index(c, x, count, mode) for x in both]
    return _Taps(tuple(x for x, _ in found), tuple(m for _, m in found), weight)


def _index(c: Code, x: str, count: str, mode: str) -> tuple[str, str]:
    """A texel's index, and a mask of lanes where it is not the border."""
    i, bits = c.ints, f"<{c.lanes} x i1>"
    last = c.op(f"sub {i} {count}, splat (i32 1)")
    if mode == "wrap":
        under = c.op(f"icmp slt {i} {x}, zeroinitializer")
        over = c.op(f"icmp sgt {i} {x}, {last}")
        x = c.op(f"select {bits} {under}, {i} {c.op(f'add {i} {x}, {count}')}, {i} {x}")
        x = c.op(f"select {bits} {over}, {i} {c.op(f'sub {i} {x}, {count}')}, {i} {x}")
    inside = ""
    if mode == "border":
        inside = c.op(f"icmp ult {i} {x}, {count}")
    x = c.call(i, "smin", c.call(i, "smax", x, "zeroinitializer"), last)
    return x, inside


# ---- texels


def _fetch(c: Code, address: str) -> str:
    """The texel at an address, before normalization."""
    if c.format == "rgba32f":
        return c.op(f"load {_V4}, ptr {address}, align 4")
    if c.format == "r32f":
        red = c.op(f"load float, ptr {address}, align 4")
        base = f"<float 0.0, float 0.0, float 0.0, float {1.0}>"
        return c.op(f"insertelement {_V4} {base}, float {red}, i32 0")
    octets = c.op(f"load <4 x i8>, ptr {address}, align 1")
    value = c.op(f"uitofp <4 x i8> {octets} to {_V4}")
    if c.format == "bgra8":
        value = c.op(f"shufflevector {_V4} {value}, {_V4} poison, {_SWAP}")
    return c.op(f"fdiv {_V4} {value}, splat (float 255.0)")


def _address(c: Code, x: str, y: str) -> str:
    """Of the texel at (x, y), both i32."""
    row = c.op(f"mul i64 {c.op(f'zext i32 {y} to i64')}, %pitch")
    left = c.op(f"mul i64 {c.op(f'zext i32 {x} to i64')}, {_BYTES[c.format]}")
    return c.op(f"getelementptr i8, ptr %base, i64 {c.op(f'add i64 {row}, {left}')}")


def _mix(c: Code, a: str, b: str, weight: str) -> str:
    """a + (b - a) * weight; of floats, a where it is b or the weight is 0."""
    first = c.op(f"insertelement {_V4} poison, float {weight}, i32 0")
    w = c.op(f"shufflevector {_V4} {first}, {_V4} poison, <4 x i32> zeroinitializer")
    step = c.op(f"fmul {_V4} {c.op(f'fsub {_V4} {b}, {a}')}, {w}")
    mixed = c.op(f"fadd {_V4} {a}, {step}")
    if not c.format.endswith("f"):
        return mixed
    zero = c.op(f"fcmp oeq {_V4} {w}, zeroinitializer")
    same = c.op(f"or <4 x i1> {zero}, {c.op(f'fcmp oeq {_V4} {a}, {b}')}")
    return c.op(f"select <4 x i1> {same}, {_V4} {a}, {_V4} {mixed}")


def _respond(c: Code, value: str, lane: str) -> None:
    """Write a lane of the results."""
    for place, channel in zip(c.results, c.channels, strict=True):
        x = c.op(f"extractelement {_V4} {value}, i32 {channel}")
        row = c.at("%data", place)
        where = c.op(f"getelementptr float, ptr {row}, i32 {lane}")
        c.do(f"store float {x}, ptr {where}, align 4")


def _loop(c: Code) -> str:
    """Begin a loop over lanes; the number of the lane."""
    c.do("br label %loop")
    c.label("loop")
    c.do("%lane = phi i32 [ 0, %mine ], [ %next, %done ]")
    return "%lane"


def _end(c: Code) -> None:
    c.do("br label %done")
    c.label("done")
    c.do("%next = add i32 %lane, 1")
    c.do(f"%more = icmp ult i32 %next, {c.lanes}")
    c.do("br i1 %more, label %loop, label %end")
    c.label("end")
    c.do("ret i32 0")


def samples(
    c: Code,
    modes: tuple[str, str],
    rounded: Sequence[bool],
    linear: bool,
    normalized: bool,
    has_header: bool,
) -> str:
    """sample_lz of a 2D image."""
    keys, n = _keys(c, uses_sampler=True, has_header=has_header)
    _begin(c, keys)
    border = c.load(_V4, "%desc", _BORDER)
    found = []
    for k in range(2):
        u = c.load(c.floats, "%data", c.arguments[n + k])
        found.append(
            _taps(c, u, k, modes[k], linear=linear, rounded=rounded[k], normalized=normalized)
        )
    lane = _loop(c)
    ints, bits = c.ints, f"<{c.lanes} x i1>"
    across, down = (
        [c.op(f"extractelement {ints} {x}, i32 {lane}") for x in t.indices] for t in found
    )
    rows = []
    for ky, y in enumerate(down):
        texels = []
        for kx, x in enumerate(across):
            texel = _fetch(c, _address(c, x, y))
            for mask in (found[0].inside[kx], found[1].inside[ky]):
                if mask:
                    inside = c.op(f"extractelement {bits} {mask}, i32 {lane}")
                    texel = c.op(f"select i1 {inside}, {_V4} {texel}, {_V4} {border}")
            texels.append(texel)
        rows.append(texels)
    if linear:
        wx, wy = (c.op(f"extractelement {c.floats} {t.weight}, i32 {lane}") for t in found)
        top, bottom = (_mix(c, a, b, wx) for a, b in rows)
        value = _mix(c, top, bottom, wy)
    else:
        value = rows[0][0]
    _respond(c, value, lane)
    _end(c)
    return c.text()


def loads(c: Code, has_header: bool) -> str:
    """ld_lz of a 2D image: 0 outside."""
    keys, n = _keys(c, uses_sampler=False, has_header=has_header)
    _begin(c, keys)
    x, y, inside, lane = _integer_place(c, n, mask=None)
    c.do(f"br i1 {inside}, label %read, label %empty")
    c.label("read")
    texel = _fetch(c, _address(c, x, y))
    c.do("br label %join")
    c.label("empty")
    c.do("br label %join")
    c.label("join")
    alpha = "1.0" if c.format == "r32f" else "0.0"
    nothing = f"<float 0.0, float 0.0, float 0.0, float {alpha}>"
    value = c.op(f"phi {_V4} [ {texel}, %read ], [ {nothing}, %empty ]")
    _respond(c, value, lane)
    _end(c)
    return c.text()


def _integer_place(c: Code, n: int, mask: int | None) -> tuple[str, str, str, str]:
    """A lane's coordinates from argument n on, and whether they (and the lane) are inside."""
    size = [c.load("i32", "%desc", _SIZE + 4 * k) for k in range(2)]
    rows = [c.at("%data", c.arguments[n + k]) for k in range(2)]
    lane = _loop(c)
    places = []
    inside = "true"
    if mask is not None:
        flag = c.op(f"getelementptr i8, ptr {c.at('%data', mask)}, i32 {lane}")
        inside = c.op(f"icmp ne i8 {c.op(f'load i8, ptr {flag}, align 1')}, 0")
    for k in range(2):
        where = c.op(f"getelementptr i32, ptr {rows[k]}, i32 {lane}")
        place = c.op(f"load i32, ptr {where}, align 4")
        within = c.op(f"icmp ult i32 {place}, {size[k]}")
        inside = c.op(f"and i1 {inside}, {within}")
        places.append(place)
    return places[0], places[1], inside, lane


def stores(c: Code) -> str:
    """Whole texels to a 2D image; lanes off, and those outside, write nothing."""
    _begin(c, [(0, c.arguments[1])])
    x, y, inside, lane = _integer_place(c, 2, mask=c.arguments[0])
    c.do(f"br i1 {inside}, label %write, label %done")
    c.label("write")
    texel = "poison"
    for k in range(4):
        where = c.op(f"getelementptr float, ptr {c.at('%data', c.arguments[4 + k])}, i32 {lane}")
        value = c.op(f"load float, ptr {where}, align 4")
        texel = c.op(f"insertelement {_V4} {texel}, float {value}, i32 {k}")
    address = _address(c, x, y)
    if c.format == "rgba32f":
        c.do(f"store {_V4} {texel}, ptr {address}, align 4")
    else:
        wide = "<4 x double>"
        ordered = c.op(f"fcmp ord {_V4} {texel}, {texel}")
        texel = c.op(f"select <4 x i1> {ordered}, {_V4} {texel}, {_V4} zeroinitializer")
        texel = c.call(_V4, "maxnum", texel, "zeroinitializer")
        texel = c.call(_V4, "minnum", texel, "splat (float 1.0)")
        exact = c.op(f"fmul {wide} {c.op(f'fpext {_V4} {texel} to {wide}')}, splat (double 255.0)")
        whole = c.op(f"fptoui {wide} {c.call(wide, 'rint', exact)} to <4 x i8>")
        if c.format == "bgra8":
            whole = c.op(f"shufflevector <4 x i8> {whole}, <4 x i8> poison, {_SWAP}")
        c.do(f"store <4 x i8> {whole}, ptr {address}, align 1")
    _end(c)
    return c.text()
