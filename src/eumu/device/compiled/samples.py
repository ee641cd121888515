"""Filtered samples and gathers, a vector of lanes at a time: the equations of `device.sampler`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from eumu.device.compiled import cubes
from eumu.device.compiled.coordinates import Choice, MipLevel, place_of_level
from eumu.device.compiled.frame import FrameLanes, begin, chunks, finish
from eumu.device.compiled.record import LIMITS
from eumu.device.compiled.texels import Texels, texel_function
from eumu.device.compiled.writer import Body, Module
from eumu.device.sampler.addressing import Taps, layer, six_bits, taps
from eumu.device.sampler.cube import face_of, on_face
from eumu.device.sampler.detail import (
    Limits,
    gradient_lod,
    length,
    levels_of,
    quad_gradients,
    steps_of,
)
from eumu.device.sampler.mixing import compared, corners, extreme, gathered, mix, reduced
from eumu.device.state.sampler import (
    AddressMode,
    MagnificationClamp,
    MipFilter,
    PrefilterOp,
    Reduction,
)
from eumu.device.state.surface import ONE, ZERO
from eumu.exec.jit.llvm.vectors import Kind, Vector
from eumu.records import dataclass


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
    mips: MipFilter | None = None  # None: one level and one filter for all lanes
    clamp: MagnificationClamp = MagnificationClamp.MIPNONE
    moved: str = ""  # whose offsets: "header", "lanes"
    compare: PrefilterOp | None = None
    clamps_reference: bool = False
    is_cube: bool = False
    extreme: Reduction | None = None  # the least or the greatest texel instead of their mean

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
        return (floats and self.compare is None) or any(m.has_border for m in self.modes)


def sampling(spec: Sampling, width: int) -> str:
    """LLVM text for a message."""
    module = Module(width)
    texel_function(module, spec.texels, spec.channels, flushes=not spec.gathers)
    if spec.is_seamless:
        cubes.texel_function(module, spec.texels, len(spec.channels))
    b = begin(module)
    with chunks(b, spec.texels.response(spec.bits, len(spec.results))) as lanes:
        sample = _Sample(b, spec, lanes)
        values = sample.gathered() if spec.gathers else sample.filtered()
        for n, value in enumerate(values):
            lanes.result(n, value, spec.bits)
    return finish(b)


class _Sample:
    """The lanes of one vector."""

    def __init__(self, b: Body, spec: Sampling, lanes: FrameLanes) -> None:
        self.b, self.spec, self.lanes = b, spec, lanes
        self.coordinates = [self.parameter(n) for n in spec.coordinates]
        self.slice = b.constant(0)
        if spec.element:
            elements = b.every("layers")
            if spec.is_cube:
                elements = elements // 6
            self.slice = layer(b, self.parameter(spec.element), elements)
        self.face = b.constant(0)
        if spec.is_cube:
            cubes.leave_if_unordered(b, lanes.active, self.coordinates)
            self.face = face_of(b, self.coordinates)
            self.coordinates = [*on_face(b, self.coordinates, self.face)]
            self.slice = self.slice * 6
        self.reference = self.parameter("ref")

    def parameter(self, name: str) -> Vector:
        """These lanes of a float parameter; of one that is not given, 0."""
        if name not in self.spec.parameters:
            return self.b.constant(0.0)
        return self._argument(name, "f")

    def _argument(self, name: str, kind: Kind) -> Vector:
        index = self.spec.first_parameter + self.spec.parameters.index(name)
        return self.lanes.argument(index, kind)

    # ---- the results

    def filtered(self) -> list[Vector]:
        """The results of a sample."""
        b, spec = self.b, self.spec
        if spec.mips is None:
            return self._selected(self._level(place_of_level(b, None), None))
        limits = Limits(*(b.every(name) for name in LIMITS))
        steps, is_magnified = steps_of(b, self._lod(), limits)
        how, levels = (spec.mips, spec.clamp), b.every("levels")
        chosen = levels_of(b, steps, is_magnified, how, limits.only, levels)
        values = self._level(place_of_level(b, chosen.first), chosen.is_magnified)
        if chosen.second is None or chosen.weight is None:
            return self._selected(values)
        mixed, end, here = b.name("mixed"), b.name("one"), b.current_label()
        b.do(f"br i1 {b.any(b.differ(chosen.weight, 0.0))}, label %{mixed}, label %{end}")
        b.label(mixed)
        others = self._level(place_of_level(b, chosen.second), chosen.is_magnified)
        both = [mix(b, x, y, chosen.weight) for x, y in zip(values, others, strict=True)]
        there = b.current_label()
        b.do(f"br label %{end}")
        b.label(end)
        return self._selected(
            [
                b.vector("f", b.op(f"phi {x.type} [ {x.name}, %{here} ], [ {y.name}, %{there} ]"))
                for x, y in zip(values, both, strict=True)
            ]
        )

    def gathered(self) -> list[Vector]:
        """One channel of the four texels of a linear filter."""
        place = place_of_level(self.b, None)
        taps = self._taps(place, None, always_linear=True)
        texels = gathered(self._corners(place, taps))
        return [self._selected(texel, self.spec.results[:1])[0] for texel in texels]

    def _selected(
        self, values: Sequence[Vector], results: Sequence[int] | None = None
    ) -> list[Vector]:
        spec, b = self.spec, self.b
        zero = b.constant(0 if spec.texels.format.is_integer else 0.0)
        one = b.constant(1 if spec.texels.format.is_integer else 1.0)
        numbered = dict(zip(spec.channels, values, strict=True))
        if spec.compare is not None:
            numbered |= {1: zero, 2: zero, 3: one}
        numbered |= {ZERO: zero, ONE: one}
        return [numbered[k] for k in (spec.results if results is None else results)]

    def _lod(self) -> Vector:
        """The level of detail before the sampler's bias."""
        b, spec = self.b, self.spec
        if spec.operation.startswith("sample_l"):
            return self.parameter("lod")  # sample_lz has none: 0
        if spec.operation.startswith("sample_d"):
            pairs = [
                (self.parameter(f"d{n}dx"), self.parameter(f"d{n}dy")) for n in spec.coordinates
            ]
        else:
            pairs = [quad_gradients(b, c) for c in self.coordinates]
        across, down = ([pair[k] for pair in pairs] for k in (0, 1))
        sizes = [b.every("scale", k) for k in range(len(pairs))]
        lod = gradient_lod(b, length(b, across, sizes), length(b, down, sizes))
        if spec.operation.startswith("sample_b"):
            return lod + self.parameter("bias")
        return lod

    # ---- one level

    def _level(self, place: MipLevel, magnified: Vector | None) -> list[Vector]:
        taps = self._taps(place, magnified)
        return reduced(self._corners(place, taps), taps, self._joined)

    def _joined(self, x: Sequence[Vector], y: Sequence[Vector], weight: Vector) -> list[Vector]:
        """Two texels, channel by channel; `extreme` has no NaN among them."""
        b, spec, pairs = self.b, self.spec, zip(x, y, strict=True)
        if spec.extreme is not None:
            return [extreme(b, spec.extreme, p, q, weight, exact=False) for p, q in pairs]
        return [mix(b, p, q, weight, exact=spec.exact) for p, q in pairs]

    def _taps(
        self, place: MipLevel, magnified: Vector | None, always_linear: bool = False
    ) -> list[Taps[Vector]]:
        spec = self.spec
        linear = always_linear or spec.linear.of(magnified)
        return [
            taps(
                self.b,
                c,
                place.sizes[d],
                spec.modes[d],
                normalized=spec.normalized,
                linear=linear,
                rounded=spec.rounded[d].of(magnified),
                offset=self._offset(d),
            )
            for d, c in enumerate(self.coordinates)
        ]

    def _offset(self, dimension: int) -> Vector | None:
        if self.spec.moved == "header":
            return self.b.every("offset", dimension)
        if self.spec.moved == "lanes" and dimension < 2:
            return six_bits(self.b, self._argument(("offu", "offv")[dimension], "i"))
        return None

    def _corners(self, place: MipLevel, taps: Sequence[Taps[Vector]]) -> list[list[Vector]]:
        """The texels of a footprint, x fastest."""
        return [
            self._compared(self._texel(place, corner.place, corner.inside))
            for corner in corners(taps)
        ]

    def _texel(
        self, place: MipLevel, at: tuple[Vector, ...], inside: Vector | None
    ) -> list[Vector]:
        b, spec = self.b, self.spec
        x, y, slice = (*at, *[b.constant(0)] * 2)[:3]
        if spec.is_cube or len(self.coordinates) < 3:
            slice = self.slice
        vectors = [place.left, place.row]
        if spec.is_seamless:
            vectors += [place.sizes[0], x, y, slice, self.face]
        else:
            vectors += [x, y, slice + self.face if spec.is_cube else slice]
        name, arguments = "cube" if spec.is_seamless else "texel", [v.typed for v in vectors]
        texel = b.ask(spec.texels.kind, len(spec.channels), name, "ptr %rec", *arguments)
        if inside is None:
            return texel
        border = [b.every("border", k) for k in spec.channels]
        if not spec.texels.format.is_integer:
            border = [b.from_bits(c) for c in border]
        return [b.where(inside, v, c) for v, c in zip(texel, border, strict=True)]

    def _compared(self, texel: list[Vector]) -> list[Vector]:
        spec = self.spec
        if spec.compare is None:
            return texel
        (red,) = texel
        is_normalized = spec.clamps_reference
        return [compared(self.b, spec.compare, red, self.reference, is_normalized=is_normalized)]
