"""Filtering: which texels a sample takes and how they become one value.

This is the definition, written from the addressing and filtering equations.  Texels are mixed in
float32, x first, then y, z and mip levels: a + (b - a) * w with weights of eight bits.  A texel of
weight 0 takes no part.  Anisotropic filters take equidistant linear samples along the longer
gradient and average them, which is an approximation: hardware does not say how it does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.sampler import cube
from eumu.device.sampler.addressing import Taps, taps
from eumu.device.sampler.detail import Detail
from eumu.device.sampler.keys import Key
from eumu.device.state.sampler import (
    AddressMode,
    CubeControl,
    Filter,
    PrefilterOp,
    Reduction,
    SamplerState,
)
from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.formats import Numbers
from eumu.device.surfaces.texture import Texture

__all__ = ["Filtering", "Points"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Lanes = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Points:
    """Where to sample: `coordinates` u, v, r [N] each, `slice` the layer (of a cube, its face).

    `count` samples lie along `axis` [N, dimensions].  `offsets` are texels for u, v and r.
    """

    coordinates: tuple[Floats, ...]
    slice: Ints
    offsets: tuple[Ints | int, ...] = (0, 0, 0)
    count: Ints | None = None
    axis: Floats | None = None
    reference: Floats | None = None

    def of(self, lanes: NDArray[np.intp]) -> Points:
        """Some of the points."""
        return Points(
            tuple(c[lanes] for c in self.coordinates),
            self.slice[lanes],
            tuple(o if isinstance(o, int) else o[lanes] for o in self.offsets),
            None if self.count is None else self.count[lanes],
            None if self.axis is None else self.axis[lanes],
            None if self.reference is None else self.reference[lanes],
        )


class Filtering:
    """One surface seen through one sampler; `border` [4] has the type of its texels.

    Texels in the range of `key` are replaced before they are filtered.
    """

    def __init__(
        self, texture: Texture, sampler: SamplerState, border: Lanes, key: Key | None = None
    ) -> None:
        self.texture, self.surface, self._key = texture, texture.surface, key
        self.sampler, self.border = sampler, border
        self.is_cube = self.surface.kind is SurfaceType.CUBE
        self.dimensions = 2 if self.is_cube else self.surface.dimensions
        everywhere = sampler.cube_surface_control_mode is CubeControl.OVERRIDE
        seamless = AddressMode.CUBE in sampler.address_modes[:2] or everywhere
        self.modes: tuple[AddressMode, ...] = sampler.address_modes
        if self.is_cube and seamless:
            self.modes = (AddressMode.CUBE,) * 3
        sizes = [self.surface.level(k) for k in range(self.surface.levels)]
        self._sizes = np.array([(v.width, v.height, v.depth) for v in sizes])

    # ---- whole samples

    def sample(self, points: Points, detail: Detail) -> Lanes:
        """Filtered texels [N, 4] before the shader's channel selects."""
        out = self.texture.read(*[np.zeros(0, np.int64)] * 4)
        out = np.zeros((len(points.slice), 4), out.dtype)
        for magnified in (False, True):
            lanes = np.flatnonzero(detail.is_magnified == magnified)
            if len(lanes):
                part = Detail(
                    detail.first[lanes],
                    detail.second[lanes],
                    detail.weight[lanes],
                    detail.is_magnified[lanes],
                )
                out[lanes] = self._mipmapped(points.of(lanes), part, magnified)
        return out

    def _mipmapped(self, points: Points, detail: Detail, magnified: bool) -> Lanes:
        sampler = self.sampler
        filter = sampler.mag_mode_filter if magnified else sampler.min_mode_filter
        value = self._spread(points, detail.first, filter, magnified)
        mixed = np.flatnonzero(detail.weight)
        if len(mixed):
            other = self._spread(points.of(mixed), detail.second[mixed], filter, magnified)
            value[mixed] = self._mix(value[mixed], other, detail.weight[mixed])
        return value

    def _spread(self, points: Points, level: Ints, filter: Filter, magnified: bool) -> Lanes:
        """The mean of the samples along the axis, or the only one."""
        linear = filter is not Filter.NEAREST
        if filter is not Filter.ANISOTROPIC or points.count is None or points.axis is None:
            return self._reduce(points, level, linear, magnified)
        total = np.zeros((len(level), 4), np.float32)
        for k in range(int(points.count.max(initial=1))):
            some = np.flatnonzero(points.count > k)
            part = points.of(some)
            assert part.count is not None and part.axis is not None
            step = ((k + 0.5) / part.count - 0.5).astype(np.float32)
            moved = tuple(
                c + part.axis[:, d] * step if d < part.axis.shape[1] else c
                for d, c in enumerate(part.coordinates)
            )
            part = Points(moved, part.slice, part.offsets, None, None, part.reference)
            total[some] += self._reduce(part, level[some], linear, magnified)
        return total / points.count.astype(np.float32)[:, None]

    # ---- one level

    def footprint(self, points: Points, level: Ints, linear: bool, magnified: bool) -> list[Taps]:
        """The texels that each dimension takes part with."""
        rounded = self.sampler.rounding(magnified)
        normalized = not self.sampler.non_normalized_coordinate_enable
        return [
            taps(
                points.coordinates[d],
                self._sizes[level, d],
                self.modes[d],
                normalized=normalized,
                linear=linear,
                rounded=rounded[d],
                offset=points.offsets[d],
            )
            for d in range(self.dimensions)
        ]

    def corners(self, points: Points, level: Ints, found: list[Taps]) -> list[Lanes]:
        """The texels of a footprint, x fastest, compared if there is a reference."""
        nothing = Taps((np.zeros_like(level),), (np.ones(len(level), bool),), _zero(level))
        x, y, z = [*found, nothing, nothing][:3]
        out = []
        for kz in range(len(z.indices)):
            for ky in range(len(y.indices)):
                for kx in range(len(x.indices)):
                    inside = x.inside[kx] & y.inside[ky] & z.inside[kz]
                    texel = self._texel(
                        level, x.indices[kx], y.indices[ky], z.indices[kz], points.slice, inside
                    )
                    out.append(self._compared(texel, points.reference))
        return out

    def _reduce(self, points: Points, level: Ints, linear: bool, magnified: bool) -> Lanes:
        """The value of one level: filtered, or the least or greatest texel."""
        found = self.footprint(points, level, linear, magnified)
        values = self.corners(points, level, found)
        extreme = self.sampler.reduction_type_enable and self.sampler.reduction_type in (
            Reduction.MINIMUM,
            Reduction.MAXIMUM,
        )
        for tap in found:
            if len(tap.indices) == 2:
                pairs = zip(values[::2], values[1::2], strict=True)
                if extreme:
                    values = [self._extreme(a, b, tap.weight) for a, b in pairs]
                else:
                    values = [self._mix(a, b, tap.weight) for a, b in pairs]
        return values[0]

    def _mix(self, a: Lanes, b: Lanes, weight: Floats) -> Lanes:
        w = weight[:, None]
        with np.errstate(invalid="ignore"):
            mixed = a + (b - a) * w
        return np.where((w == 0) | (a == b), a, mixed)

    def _extreme(self, a: Lanes, b: Lanes, weight: Floats) -> Lanes:
        choose = np.fmin if self.sampler.reduction_type is Reduction.MINIMUM else np.fmax
        return np.where(weight[:, None] == 0, a, choose(a, b))

    # ---- one texel

    def _texel(
        self, level: Ints, x: Ints, y: Ints, z: Ints, slice: Ints, inside: NDArray[np.bool_]
    ) -> Lanes:
        if self.is_cube and self.modes[0] is AddressMode.CUBE:
            return self._cube_texel(level, x, y, slice)
        if self.surface.kind is SurfaceType.S3D:
            slice = z
        if inside.all():
            return self._read(level, x, y, slice)
        out = np.broadcast_to(self.border, (len(level), 4)).copy()
        k = np.flatnonzero(inside)
        out[k] = self._read(level[k], x[k], y[k], slice[k])
        return out

    def _read(self, level: Ints, x: Ints, y: Ints, slice: Ints) -> Lanes:
        texels = self.texture.read(level, x, y, slice)
        return texels if self._key is None else self._key.replaced(texels)

    def _cube_texel(self, level: Ints, x: Ints, y: Ints, slice: Ints) -> Lanes:
        """A texel of a face or of its neighbour; at a corner, the mean of the three that meet."""
        size = self._sizes[level, 0]
        corner = ((x < 0) | (x >= size)) & ((y < 0) | (y >= size))
        inner_x, inner_y = np.clip(x, 0, size - 1), np.clip(y, 0, size - 1)
        places = [(np.where(corner, inner_x, x), np.where(corner, inner_y, y))]
        if corner.any():
            places += [(x, inner_y), (inner_x, y)]
        found = []
        for px, py in places:
            face, column, row = cube.across(slice % 6, px, py, size)
            found.append(self._read(level, column, row, slice // 6 * 6 + face))
        if len(found) == 1:
            return found[0]
        mean = (found[0] + found[1] + found[2]) / np.float32(3)
        return np.where(corner[:, None], mean, found[0])

    def _compared(self, texel: Lanes, reference: Floats | None) -> Lanes:
        """sample_c: 0 where `texel op reference` holds, else 1, in red; alpha is 1."""
        if reference is None:
            return texel
        red = texel[:, 0]
        channels = self.surface.format.channels
        if any(c.numbers is Numbers.UNORM and 0 in c.to for c in channels):
            reference = np.clip(reference, np.float32(0), np.float32(1))
        out = np.zeros((len(red), 4), np.float32)
        out[:, 0] = ~_COMPARISONS[self.sampler.shadow_function](red, reference)
        out[:, 3] = 1
        return out


def _zero(level: Ints) -> Floats:
    return np.zeros(len(level), np.float32)


_COMPARISONS: Final[dict[PrefilterOp, Callable[[Floats, Floats], Lanes]]] = {
    PrefilterOp.ALWAYS: lambda x, y: np.ones(len(x), bool),
    PrefilterOp.NEVER: lambda x, y: np.zeros(len(x), bool),
    PrefilterOp.LESS: np.less,
    PrefilterOp.EQUAL: np.equal,
    PrefilterOp.LEQUAL: np.less_equal,
    PrefilterOp.GREATER: np.greater,
    PrefilterOp.NOTEQUAL: np.not_equal,
    PrefilterOp.GEQUAL: np.greater_equal,
}
