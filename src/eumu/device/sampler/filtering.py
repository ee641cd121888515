"""Filtered samples of a surface, in NumPy: the equations of addressing and mixing, put together.

Anisotropic filters take equidistant linear samples along the longer gradient and average them,
which is an approximation: hardware does not say how it does it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS
from eumu.device.sampler import cube
from eumu.device.sampler.addressing import Taps, modes_on, taps
from eumu.device.sampler.detail import Detail, only_level
from eumu.device.sampler.keys import Key
from eumu.device.sampler.mixing import compared, corners, extreme, mix, reduced, without_denormals
from eumu.device.state.sampler import AddressMode, Filter, SamplerState
from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.texture import Texture
from eumu.records import dataclass

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

    Texels in the range of `key` are replaced before they are filtered.  What `gathers` has the
    texels as they lie.
    """

    def __init__(
        self,
        texture: Texture,
        sampler: SamplerState,
        border: Lanes,
        key: Key | None = None,
        *,
        gathers: bool = False,
    ) -> None:
        self.texture, self.surface, self._key = texture, texture.surface, key
        self._flushes = self.surface.format.has_wide_floats and not gathers
        self.sampler, self.border = sampler, border
        self.is_cube = self.surface.kind is SurfaceType.CUBE
        self.dimensions = 2 if self.is_cube else self.surface.dimensions
        self.modes = modes_on(sampler, self.surface)
        sizes = [self.surface.level(k) for k in range(self.surface.levels)]
        self._sizes = np.array([(v.width, v.height, v.depth) for v in sizes])

    # ---- whole samples

    def sample(self, points: Points, detail: Detail[Lanes]) -> Lanes:
        """Filtered texels [N, 4] before the shader's channel selects."""
        out = self.texture.read(*[np.zeros(0, np.int64)] * 4)
        out = np.zeros((len(points.slice), 4), out.dtype)
        for magnified in (False, True):
            lanes = np.flatnonzero(detail.is_magnified == magnified)
            if len(lanes):
                out[lanes] = self._mipmapped(points.of(lanes), detail, lanes, magnified)
        return out

    def _mipmapped(
        self, points: Points, detail: Detail[Lanes], lanes: NDArray[np.intp], magnified: bool
    ) -> Lanes:
        """Points that are those lanes of a level of detail."""
        sampler = self.sampler
        filter = sampler.mag_mode_filter if magnified else sampler.min_mode_filter
        if detail.first is None:
            first = np.full(len(lanes), only_level(sampler, self.surface), np.int64)
        else:
            first = detail.first[lanes]
        value = self._spread(points, first, filter, magnified)
        if detail.second is not None and detail.weight is not None:
            mixed = np.flatnonzero(detail.weight[lanes])
            second, weight = detail.second[lanes[mixed]], detail.weight[lanes[mixed]]
            if len(mixed):
                other = self._spread(points.of(mixed), second, filter, magnified)
                value[mixed] = mix(ARRAYS, value[mixed], other, weight[:, None])
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

    def footprint(
        self, points: Points, level: Ints, linear: bool, magnified: bool
    ) -> list[Taps[Lanes]]:
        """The texels that each dimension takes part with."""
        rounded = self.sampler.rounding(magnified)
        normalized = not self.sampler.non_normalized_coordinate_enable
        return [
            taps(
                ARRAYS,
                points.coordinates[d],
                self._sizes[level, d],
                self.modes[d],
                normalized=normalized,
                linear=linear,
                rounded=rounded[d],
                offset=_offset(points.offsets[d]),
            )
            for d in range(self.dimensions)
        ]

    def corners(self, points: Points, level: Ints, taps: list[Taps[Lanes]]) -> list[Lanes]:
        """The texels of a footprint, x fastest, compared if there is a reference."""
        return [
            self._compared(
                self._texel(level, corner.place, points.slice, corner.inside), points.reference
            )
            for corner in corners(taps)
        ]

    def _reduce(self, points: Points, level: Ints, linear: bool, magnified: bool) -> Lanes:
        """The value of one level: filtered, or the least or greatest texel."""
        taps = self.footprint(points, level, linear, magnified)
        return reduced(self.corners(points, level, taps), taps, self._join)

    def _join(self, a: Lanes, b: Lanes, weight: Lanes) -> Lanes:
        reduction, wide = self.sampler.extreme, weight[:, None]
        if reduction is not None:
            return extreme(ARRAYS, reduction, a, b, wide)
        return mix(ARRAYS, a, b, wide)

    # ---- one texel

    def _texel(
        self, level: Ints, place: tuple[Lanes, ...], slice: Ints, inside: Lanes | None
    ) -> Lanes:
        x, y, z = (*place, *[np.zeros_like(level)] * 2)[:3]
        if self.is_cube and self.modes[0] is AddressMode.CUBE:
            return self._cube_texel(level, x, y, slice)
        if self.surface.kind is SurfaceType.S3D:
            slice = z
        if inside is None or inside.all():
            return self._read(level, x, y, slice)
        out = np.broadcast_to(self.border, (len(level), 4)).copy()
        k = np.flatnonzero(inside)
        out[k] = self._read(level[k], x[k], y[k], slice[k])
        return out

    def _read(self, level: Ints, x: Ints, y: Ints, slice: Ints) -> Lanes:
        texels = self.texture.read(level, x, y, slice)
        if self._flushes:
            texels = without_denormals(ARRAYS, texels)
        return texels if self._key is None else self._key.replaced(texels)

    def _cube_texel(self, level: Ints, x: Ints, y: Ints, slice: Ints) -> Lanes:
        """A texel of a face or of its neighbour; at a corner, the mean of the three that meet."""
        size = self._sizes[level, 0]
        corner, places = cube.beside(ARRAYS, x, y, size)
        texels = []
        for px, py in places if corner.any() else places[:1]:
            face, column, row = cube.across(ARRAYS, slice % 6, px, py, size)
            texels.append(self._read(level, column, row, slice // 6 * 6 + face))
        if len(texels) == 1:
            return texels[0]
        return np.where(corner[:, None], cube.corner_mean(texels), texels[0])

    def _compared(self, texel: Lanes, reference: Floats | None) -> Lanes:
        """sample_c has its result in red; alpha is 1."""
        if reference is None:
            return texel
        op, is_normalized = self.sampler.shadow_function, self.surface.format.has_unorm_red
        out = np.zeros((len(texel), 4), np.float32)
        out[:, 0] = compared(ARRAYS, op, texel[:, 0], reference, is_normalized=is_normalized)
        out[:, 3] = 1
        return out


def _offset(texels: Ints | int) -> Ints | None:
    """None if there is none."""
    if isinstance(texels, int):
        return ARRAYS.constant(texels) if texels else None
    return texels
