"""Filtered samples and gathers, a vector of lanes at a time.

The arithmetic is that of `device.sampler.filtering`, operation by operation: texels are mixed in
float32, x first, then y, z and mip levels, and a texel of weight 0 takes no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from eumu.device.compiled import cubes
from eumu.device.compiled.coordinates import (
    Choice,
    Place,
    Taps,
    element,
    levels_of,
    place_of_level,
    taps,
)
from eumu.device.compiled.detail import gradient_lod, quad_lod
from eumu.device.compiled.frame import Lanes, begin, chunks, finish
from eumu.device.compiled.texels import Texels, float_bits, texel_function
from eumu.device.compiled.writer import Body, Module
from eumu.device.state.sampler import AddressMode, MipFilter, PrefilterOp

__all__ = ["ONE", "ZERO", "Sampling", "sampling"]

ZERO: Final = 4  # results that no texel has: 0 and 1
ONE: Final = 5
_BORDERS: Final = (AddressMode.CLAMP_BORDER, AddressMode.HALF_BORDER)
# The result is 1 where `texel op reference` does not hold.
_NOT: Final = {
    PrefilterOp.ALWAYS: "false",
    PrefilterOp.NEVER: "true",
    PrefilterOp.LESS: "uge",
    PrefilterOp.EQUAL: "une",
    PrefilterOp.LEQUAL: "ugt",
    PrefilterOp.GREATER: "ule",
    PrefilterOp.NOTEQUAL: "oeq",
    PrefilterOp.GEQUAL: "ult",
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """A message of the sampler and what its code depends on."""

    texels: Texels
    operation: str
    parameters: tuple[str, ...]
    first_parameter: int  # their first argument
    results: tuple[int, ...]  # channels 0 to 3, ZERO or ONE
    bits: int
    coordinates: tuple[str, ...]
    element: str  # the parameter that names an array's element, or nothing
    modes: tuple[AddressMode, ...]
    normalized: bool
    linear: Choice = field(default_factory=lambda: Choice(True, True))
    rounded: tuple[Choice, ...] = ()
    mips: MipFilter | None = None  # None: one level for all lanes
    moved: str = ""  # whose offsets: "header", "lanes"
    compare: PrefilterOp | None = None
    clamps_reference: bool = False
    is_cube: bool = False
    extreme: str = ""  # "olt" or "ogt": the least or the greatest texel instead of their mean

    @property
    def is_seamless(self) -> bool:
        return self.is_cube and self.modes[0] is AddressMode.CUBE

    @property
    def gathers(self) -> bool:
        return self.operation.startswith("gather4")

    @property
    def channels(self) -> tuple[int, ...]:
        """What is read of a texel."""
        if self.compare is not None:
            return (0,)
        wanted = {k for k in self.results if k < ZERO}
        return tuple(sorted(wanted or {min(self.texels.format.outputs)}))

    @property
    def exact(self) -> bool:
        """Whether a texel of weight 0 could be seen: infinities, NaN, a negative zero."""
        floats = any(c.numbers.value == "FLOAT" for c in self.texels.format.channels)
        return (floats and self.compare is None) or any(m in _BORDERS for m in self.modes)


def sampling(spec: Sampling, width: int) -> str:
    """LLVM text for a message."""
    module = Module(width)
    texel_function(module, spec.texels, spec.channels)
    if spec.is_seamless:
        cubes.texel_function(module, spec.texels, len(spec.channels))
    b = begin(module)
    type = b.i if spec.bits == 16 or spec.texels.is_integer else b.f
    with chunks(b, [(type, spec.bits)] * len(spec.results)) as lanes:
        sample = _Sample(b, spec, lanes)
        values = sample.gathered() if spec.gathers else sample.filtered()
        for n, value in enumerate(values):
            if spec.bits == 16 and not spec.texels.is_integer:
                value = float_bits(b, value, 16)
            lanes.result(n, value, type, spec.bits)
    return finish(b)


class _Sample:
    """The lanes of one vector."""

    def __init__(self, b: Body, spec: Sampling, lanes: Lanes) -> None:
        self.b, self.spec, self.lanes = b, spec, lanes
        self.type = spec.texels.type(b)
        self.coordinates = [self.parameter(n) for n in spec.coordinates]
        self.slice = "zeroinitializer"
        if spec.element:
            elements = b.wide("layers")
            if spec.is_cube:
                elements = b.ints("udiv", elements, b.k(6))
            self.slice = element(b, self.parameter(spec.element), elements)
        self.face = ""
        if spec.is_cube:
            cubes.leave_if_unordered(b, lanes.active, self.coordinates)
            self.face, *self.coordinates = cubes.project(b, *self.coordinates)
            self.slice = b.ints("mul", self.slice, b.k(6))
        self.reference = ""
        if spec.compare is not None:
            self.reference = self.parameter("ref")
            if spec.clamps_reference:
                self.reference = _clamped(b, self.reference)

    def parameter(self, name: str, type: str = "") -> str:
        """These lanes of a parameter; of one that is not given, 0."""
        if name not in self.spec.parameters:
            return "zeroinitializer"
        index = self.spec.first_parameter + self.spec.parameters.index(name)
        return self.lanes.argument(index, type or self.b.f)

    # ---- the results

    def filtered(self) -> list[str]:
        """The results of a sample."""
        b, spec = self.b, self.spec
        if spec.mips is None:
            return self._selected(self._level(place_of_level(b, None), ""))
        found = levels_of(b, self._lod(), spec.mips)
        values = self._level(place_of_level(b, found.first or None), found.magnified)
        if spec.mips is not MipFilter.LINEAR:
            return self._selected(values)
        mixed, end, here = b.name("mixed"), b.name("one"), b.block
        between = b.fcmp("une", found.weight, "zeroinitializer")
        b.do(f"br i1 {b.any(between)}, label %{mixed}, label %{end}")
        b.label(mixed)
        others = self._level(place_of_level(b, found.second), found.magnified)
        both = [
            self._mix(x, y, found.weight, exact=True) for x, y in zip(values, others, strict=True)
        ]
        there = b.block
        b.do(f"br label %{end}")
        b.label(end)
        return self._selected(
            [
                b.op(f"phi {self.type} [ {x}, %{here} ], [ {y}, %{there} ]")
                for x, y in zip(values, both, strict=True)
            ]
        )

    def gathered(self) -> list[str]:
        """One channel of the four texels of a linear filter."""
        b, spec = self.b, self.spec
        place = place_of_level(b, None)
        found = self._taps(place, "", always_linear=True)
        corners = self._corners(place, found)
        if len(corners) == 2:
            corners = [*corners, *corners]
        channel = spec.results[0]
        upper_left, upper_right, lower_left, lower_right = (
            self._selected(c, (channel,))[0] for c in corners
        )
        return [lower_left, lower_right, upper_right, upper_left]

    def _selected(self, values: Sequence[str], results: Sequence[int] | None = None) -> list[str]:
        spec = self.spec
        one = self.b.k(1) if spec.texels.is_integer else self.b.x(1.0)
        known = dict(zip(spec.channels, values, strict=True))
        if spec.compare is not None:
            known |= {1: "zeroinitializer", 2: "zeroinitializer", 3: one}
        known |= {ZERO: "zeroinitializer", ONE: one}
        return [known[k] for k in (spec.results if results is None else results)]

    def _lod(self) -> str:
        """The level of detail before the sampler's bias."""
        b, spec = self.b, self.spec
        if spec.operation.startswith("sample_l"):
            return self.parameter("lod")  # sample_lz has none: 0
        if spec.operation.startswith("sample_d"):
            pairs = [
                (self.parameter(f"d{n}dx"), self.parameter(f"d{n}dy")) for n in spec.coordinates
            ]
            return gradient_lod(b, pairs)
        lod = quad_lod(b, self.coordinates)
        if spec.operation.startswith("sample_b"):
            return b.floats("fadd", lod, self.parameter("bias"))
        return lod

    # ---- one level

    def _level(self, place: Place, magnified: str) -> list[str]:
        found = self._taps(place, magnified)
        values = self._corners(place, found)
        for tap in found:
            if len(tap.indices) == 2:
                pairs = zip(values[::2], values[1::2], strict=True)
                values = [self._mixed(p, q, tap.weight) for p, q in pairs]
        return values[0]

    def _mixed(self, a: Sequence[str], b: Sequence[str], weight: str) -> list[str]:
        pairs = zip(a, b, strict=True)
        if self.spec.extreme:
            return [self._extreme(x, y, weight) for x, y in pairs]
        return [self._mix(x, y, weight, exact=self.spec.exact) for x, y in pairs]

    def _extreme(self, x: str, y: str, weight: str) -> str:
        """x where the weight is 0; neither is NaN or a negative zero."""
        b = self.b
        better = b.both(b.fcmp(self.spec.extreme, y, x), b.fcmp("une", weight, "zeroinitializer"))
        return b.choose(better, b.f, y, x)

    def _taps(self, place: Place, magnified: str, always_linear: bool = False) -> list[Taps]:
        b, spec = self.b, self.spec
        linear: str | bool = always_linear or spec.linear.of(b, magnified)
        return [
            taps(
                b,
                c,
                place.sizes[d],
                spec.modes[d],
                normalized=spec.normalized,
                linear=linear,
                rounded=spec.rounded[d].of(b, magnified),
                offset=self._offset(d),
            )
            for d, c in enumerate(self.coordinates)
        ]

    def _offset(self, dimension: int) -> str:
        b, spec = self.b, self.spec
        if spec.moved == "header":
            return b.wide("offset", dimension)
        if spec.moved == "lanes" and dimension < 2:  # six bits, signed
            given = self.parameter(("offu", "offv")[dimension], b.i)
            return b.ints("ashr", b.ints("shl", given, b.k(26)), b.k(26))
        return ""

    def _corners(self, place: Place, found: Sequence[Taps]) -> list[list[str]]:
        """The texels of a footprint, x fastest."""
        nothing = Taps(("zeroinitializer",), ("",), "")
        x, y, z = [*found, nothing, nothing][:3]
        corners = []
        for kz in range(len(z.indices)):
            for ky in range(len(y.indices)):
                for kx in range(len(x.indices)):
                    inside = self.b.both(x.inside[kx], y.inside[ky])
                    inside = self.b.both(inside, z.inside[kz])
                    at = x.indices[kx], y.indices[ky], z.indices[kz]
                    corners.append(self._compared(self._texel(place, at, inside)))
        return corners

    def _texel(self, place: Place, at: tuple[str, str, str], inside: str) -> list[str]:
        b, spec = self.b, self.spec
        x, y, slice = at
        if spec.is_cube or len(self.coordinates) < 3:
            slice = self.slice
        given = [f"ptr %rec, {b.i} {place.left}, {b.i} {place.row}"]
        if spec.is_seamless:
            given.append(f"{b.i} {place.sizes[0]}")
            given += [f"{b.i} {v}" for v in (x, y, slice, self.face)]
            return b.ask(self.type, len(spec.channels), "cube", *given)
        if spec.is_cube:
            slice = b.ints("add", slice, self.face)
        given += [f"{b.i} {v}" for v in (x, y, slice)]
        values = b.ask(self.type, len(spec.channels), "texel", *given)
        if not inside:
            return values
        border = [b.field("border", k) for k in spec.channels]
        wide = [b.cast("bitcast", b.splat(b.i, c), b.i, self.type) for c in border]
        return [b.choose(inside, self.type, v, w) for v, w in zip(values, wide, strict=True)]

    def _compared(self, texel: list[str]) -> list[str]:
        b, compare = self.b, self.spec.compare
        if compare is None:
            return texel
        (red,) = texel
        mask = b.fcmp(_NOT[compare], red, self.reference)
        return [b.choose(mask, b.f, b.x(1.0), "zeroinitializer")]

    def _mix(self, x: str, y: str, weight: str, *, exact: bool) -> str:
        """x + (y - x) * weight; x where it is y or the weight is 0."""
        b = self.b
        mixed = b.floats("fadd", x, b.floats("fmul", b.floats("fsub", y, x), weight))
        if not exact:
            return mixed
        zero = b.fcmp("oeq", weight, "zeroinitializer")
        same = b.either(zero, b.fcmp("oeq", x, y))
        return b.choose(same, b.f, x, mixed)


def _clamped(b: Body, x: str) -> str:
    """Between 0 and 1; NaN stays."""
    x = b.choose(b.fcmp("olt", x, "zeroinitializer"), b.f, "zeroinitializer", x)
    return b.choose(b.fcmp("ogt", x, b.x(1.0)), b.f, b.x(1.0), x)
