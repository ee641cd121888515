"""From coordinates to texels and mip levels in every lane: the equations of `device.sampler`.

Integers of 32 bits are enough: nothing changes far outside a surface, so coordinates are clamped to
a margin around it first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eumu.device.compiled.record import LEVEL, LEVEL_BYTES, RECORD
from eumu.device.compiled.writer import Body
from eumu.device.state.sampler import AddressMode, MipFilter

__all__ = ["Choice", "Detail", "Place", "Taps", "element", "levels_of", "place_of_level", "taps"]

_MARGIN: Final = 64.0  # texels; the farthest offset is 32
_FAR: Final = float(1 << 30)


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that a filter for enlarging and one for reducing may have or not."""

    enlarged: bool
    reduced: bool

    @property
    def differs(self) -> bool:
        return self.enlarged != self.reduced

    def of(self, b: Body, magnified: str) -> str | bool:
        """For all lanes alike, or the mask of those that have it."""
        if not self.differs:
            return self.enlarged
        return magnified if self.enlarged else b.negate(magnified)


@dataclass(frozen=True, slots=True)
class Taps:
    """One or two texels of a dimension: indices, masks of those inside (empty: all), weight."""

    indices: tuple[str, ...]
    inside: tuple[str, ...]
    weight: str


@dataclass(frozen=True, slots=True)
class Place:
    """A mip level in every lane: sizes in texels, where its texels begin."""

    sizes: tuple[str, str, str]
    left: str
    row: str


@dataclass(frozen=True, slots=True)
class Detail:
    """Two mip levels, the second one's weight, and the mask of enlarged lanes."""

    first: str
    second: str
    weight: str
    magnified: str


def place_of_level(b: Body, level: str | None) -> Place:
    """Level 0 of the record, or that in a vector."""
    if level is None:
        width, height, depth, left, row = (b.wide("level", n) for n in range(len(LEVEL)))
        return Place((width, height, depth), left, row)
    assert RECORD.fields is not None
    table = b.at("%rec", int(RECORD.fields["level"][1]))
    rows = b.pointers(table, b.ints("mul", level, b.k(LEVEL_BYTES)))
    width, height, depth, left, row = (b.gather(rows, 4 * n) for n in range(len(LEVEL)))
    return Place((width, height, depth), left, row)


# ---- texels of a dimension


def taps(
    b: Body,
    u: str,
    size: str,
    mode: AddressMode,
    *,
    normalized: bool,
    linear: str | bool,
    rounded: str | bool,
    offset: str = "",
) -> Taps:
    """The texels that a coordinate means; `linear` and `rounded` may be masks."""
    sizes = b.cast("sitofp", size, b.i, b.f)
    u, direction = _scaled(b, u, sizes, mode, normalized, bool(offset))
    u = b.least(b.f, b.most(b.f, u, b.x(-_MARGIN)), b.floats("fadd", sizes, b.x(_MARGIN)))
    fixed = _fixed(b, u, rounded)
    weight = ""
    if linear is not False:
        half = b.k(128)
        low = b.ints("and", b.ints("sub", fixed, half), b.k(255))
        if linear is not True:
            half = b.choose(str(linear), b.i, half, "zeroinitializer")
            low = b.choose(str(linear), b.i, low, "zeroinitializer")
        fixed = b.ints("sub", fixed, half)
        weight = b.floats("fmul", b.cast("sitofp", low, b.i, b.f), b.x(1 / 256))
    first = b.ints("ashr", fixed, b.k(8))
    if offset:
        first = b.ints("add", first, b.ints("mul", offset, direction) if direction else offset)
    both = [first] if linear is False else [first, b.ints("add", first, b.k(1))]
    found = [_index(b, k, size, mode, bool(offset)) for k in both]
    return Taps(tuple(k for k, _ in found), tuple(m for _, m in found), weight)


def _fixed(b: Body, u: str, rounded: str | bool) -> str:
    """Steps of 1/256, truncated or rounded; the sum with one half would itself be rounded."""
    u = b.floats("fmul", u, b.x(256.0))
    whole = b.call(b.f, "floor", u)
    fixed = b.cast("fptosi", whole, b.f, b.i)
    if rounded is False:
        return fixed
    up = b.fcmp("oge", b.floats("fsub", u, whole), b.x(0.5))
    if rounded is not True:
        up = b.both(up, str(rounded))
    return b.ints("sub", fixed, b.cast("sext", up, b.b, b.i))


def _scaled(
    b: Body, u: str, sizes: str, mode: AddressMode, normalized: bool, moved: bool
) -> tuple[str, str]:
    """A coordinate in texels, and the direction in which offsets count (empty: up)."""
    u = b.choose(b.fcmp("ord", u, u), b.f, u, "zeroinitializer")
    if not normalized:
        return u, ""
    u = b.least(b.f, b.most(b.f, u, b.x(-_FAR)), b.x(_FAR))
    direction = ""
    if mode is AddressMode.WRAP:
        u = b.floats("fsub", u, b.call(b.f, "floor", u))
    elif mode is AddressMode.MIRROR:
        half = b.floats("fmul", u, b.x(0.5))
        whole = b.floats("fmul", b.call(b.f, "rint", half), b.x(2.0))
        direction = _down(b, b.fcmp("olt", u, whole), moved)
        u = b.call(b.f, "fabs", b.floats("fsub", u, whole))
    elif mode is AddressMode.MIRROR_ONCE:
        direction = _down(b, b.fcmp("olt", u, "zeroinitializer"), moved)
        u = b.call(b.f, "fabs", u)
    u = b.floats("fmul", u, sizes)
    if mode is AddressMode.HALF_BORDER:
        u = b.least(b.f, b.most(b.f, u, "zeroinitializer"), sizes)
    return u, direction


def _down(b: Body, mask: str, moved: bool) -> str:
    return b.choose(mask, b.i, b.k(-1), b.k(1)) if moved else ""


def _index(b: Body, k: str, size: str, mode: AddressMode, moved: bool) -> tuple[str, str]:
    """The texel that an index means, and the mask of lanes where it is not the border."""
    last = b.ints("sub", size, b.k(1))
    inside = ""
    match mode:
        case AddressMode.CUBE:
            return b.clamp(k, b.k(-1), size), ""  # other faces go on there
        case AddressMode.WRAP if moved:
            k = _modulo(b, k, size)
        case AddressMode.WRAP:  # a texel outside at most
            under, over = b.icmp("slt", k, "zeroinitializer"), b.icmp("sgt", k, last)
            k = b.choose(under, b.i, b.ints("add", k, size), k)
            k = b.choose(over, b.i, b.ints("sub", k, size), k)
        case AddressMode.MIRROR if moved:
            twice = b.ints("shl", size, b.k(1))
            folded = _modulo(b, k, twice)
            back = b.ints("sub", b.ints("sub", twice, b.k(1)), folded)
            k = b.choose(b.icmp("slt", folded, size), b.i, folded, back)
        case AddressMode.MIRROR | AddressMode.MIRROR_ONCE:
            below = b.icmp("slt", k, "zeroinitializer")
            k = b.choose(below, b.i, b.ints("sub", b.k(-1), k), k)
        case AddressMode.CLAMP_BORDER | AddressMode.HALF_BORDER:
            inside = b.icmp("ult", k, size)
    return b.clamp(k, "zeroinitializer", last), inside


def _modulo(b: Body, k: str, n: str) -> str:
    """k mod n of small numbers: half a unit keeps the quotient away from integers."""
    wide, by = b.cast("sitofp", k, b.i, b.f), b.cast("sitofp", n, b.i, b.f)
    quotient = b.floats("fdiv", b.floats("fadd", wide, b.x(0.5)), by)
    whole = b.cast("fptosi", b.call(b.f, "floor", quotient), b.f, b.i)
    return b.ints("sub", k, b.ints("mul", whole, n))


def element(b: Body, coordinate: str, elements: str) -> str:
    """The array element that a coordinate means."""
    c = b.choose(b.fcmp("ord", coordinate, coordinate), b.f, coordinate, "zeroinitializer")
    most = b.cast("sitofp", elements, b.i, b.f)
    c = b.least(b.f, b.most(b.f, c, b.x(-1.0)), most)
    whole = b.cast("fptosi", b.call(b.f, "rint", c), b.f, b.i)
    return b.clamp(whole, "zeroinitializer", b.ints("sub", elements, b.k(1)))


# ---- levels of detail


def levels_of(b: Body, lod: str, filter: MipFilter) -> Detail:
    """Mip levels of a level of detail before the sampler's bias and clamps."""
    wide = b.doubles("fadd", b.cast("fpext", lod, b.f, b.d), b.splat(b.d, b.field("lod_bias")))
    ordered = b.op(f"fcmp ord {b.d} {wide}, {wide}")
    wide = b.choose(ordered, b.d, wide, "zeroinitializer")
    wide = b.most(b.d, wide, b.splat(b.d, b.field("least_lod")))
    wide = b.least(b.d, wide, b.splat(b.d, b.field("greatest_lod")))
    steps = b.call(b.d, "rint", b.doubles("fmul", wide, "splat (double 256.0)"))
    lod = b.cast("fptosi", steps, b.d, b.i)
    magnified = b.icmp("sle", lod, b.wide("base_level"))
    last = b.ints("sub", b.wide("levels"), b.k(1))
    if filter is MipFilter.NONE:
        return Detail("", "", "", magnified)
    if filter is MipFilter.NEAREST:
        nearest = b.ints("lshr", b.ints("add", lod, b.k(128)), b.k(8))
        return Detail(b.call(b.i, "umin", nearest, last), "", "", magnified)
    first = b.call(b.i, "umin", b.ints("lshr", lod, b.k(8)), last)
    second = b.call(b.i, "umin", b.ints("add", first, b.k(1)), last)
    low = b.cast("sitofp", b.ints("and", lod, b.k(255)), b.i, b.f)
    weight = b.floats("fmul", low, b.x(1 / 256))
    between = b.icmp("ult", first, last)
    return Detail(first, second, b.choose(between, b.f, weight, "zeroinitializer"), magnified)
