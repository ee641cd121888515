"""From texture coordinates to texels: wrapping, clamping, and the two texels that a line mixes.

Coordinates are float32 and computed in float32 as the OpenCL specification writes them; then they
become fixed-point numbers of eight fractional bits, rounded or truncated as the state says.  NaN
is 0.  Sizes are those of each lane's mip level.
"""

from __future__ import annotations

from typing import Final, Generic

from eumu.device.lanes import LaneFunctions, V
from eumu.device.state.sampler import AddressMode, CubeControl, SamplerState
from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.surface import Surface
from eumu.records import dataclass

FRACTION: Final = 8  # bits
_ONE: Final = 1 << FRACTION
_FAR: Final = float(1 << 30)  # beyond every surface; clamped, so that integers hold it
# Texels around a surface: nothing changes beyond the farthest offset, 32.  A direction with NaN
# leads far beyond a cube's face.
_MARGIN: Final = 64.0
_CUBE_MARGIN: Final = float(1 << 22)


@dataclass(frozen=True, slots=True)
class Taps(Generic[V]):
    """One or two texels of a dimension: indices, whether they exist, the second one's weight.

    None is inside everywhere, and no weight of a texel that is alone.
    """

    indices: tuple[V, ...]
    inside: tuple[V | None, ...]
    weight: V | None = None  # 0 … 255/256


def modes_on(sampler: SamplerState, surface: Surface) -> tuple[AddressMode, ...]:
    """Address modes for u, v and r; of a cube whose faces go on in one another, CUBE."""
    modes = sampler.address_modes
    everywhere = sampler.cube_surface_control_mode is CubeControl.OVERRIDE
    seamless = AddressMode.CUBE in modes[:2] or everywhere
    return (AddressMode.CUBE,) * 3 if seamless and surface.kind is SurfaceType.CUBE else modes


def taps(
    lanes: LaneFunctions[V],
    coordinate: V,
    size: V,
    mode: AddressMode,
    *,
    normalized: bool,
    linear: V | bool,
    rounded: V | bool,
    offset: V | None = None,
) -> Taps[V]:
    """The texels of one dimension that a coordinate means; `linear` and `rounded` may be masks."""
    sizes = lanes.single(size)
    place, is_down = _in_texels(lanes, coordinate, sizes, mode, normalized)
    margin = _CUBE_MARGIN if mode is AddressMode.CUBE else _MARGIN
    place = lanes.least(lanes.most(place, -margin), sizes + margin)
    fixed = _fixed(lanes, place, rounded)
    weight = None
    if linear is not False:
        half = lanes.constant(_ONE // 2)
        low = fixed - half & _ONE - 1
        if linear is not True:
            half, low = lanes.where(linear, half, 0), lanes.where(linear, low, 0)
        fixed = fixed - half
        weight = lanes.single(low) * (1 / _ONE)
    first = fixed >> FRACTION
    if offset is not None:
        first = first + (offset if is_down is None else lanes.where(is_down, -offset, offset))
    both = (first,) if linear is False else (first, first + 1)
    indices = [_index(lanes, k, size, mode, moved=offset is not None) for k in both]
    return Taps(tuple(k for k, _ in indices), tuple(inside for _, inside in indices), weight)


def _fixed(lanes: LaneFunctions[V], place: V, rounded: V | bool) -> V:
    """In steps of 1/256, truncated or rounded; the sum with one half would itself be rounded."""
    steps = place * float(_ONE)
    whole = lanes.floor(steps)
    fixed = lanes.integer(whole)
    if rounded is False:
        return fixed
    is_up = steps - whole >= 0.5
    if rounded is not True:
        is_up = is_up & rounded
    return fixed + lanes.integer(is_up)


def _in_texels(
    lanes: LaneFunctions[V], coordinate: V, sizes: V, mode: AddressMode, normalized: bool
) -> tuple[V, V | None]:
    """A coordinate in texels, and where it counts texels downwards (None: nowhere)."""
    c = lanes.where(lanes.equal(coordinate, coordinate), coordinate, 0.0)
    if not normalized:
        return c, None
    c = lanes.least(lanes.most(c, -_FAR), _FAR)
    is_down = None
    if mode is AddressMode.WRAP:
        c = c - lanes.floor(c)
    elif mode is AddressMode.MIRROR:
        whole = lanes.rint(c * 0.5) * 2.0
        is_down = c < whole
        c = lanes.magnitude(c - whole)
    elif mode is AddressMode.MIRROR_ONCE:
        is_down = c < 0.0
        c = lanes.magnitude(c)
    c = c * sizes
    if mode is AddressMode.HALF_BORDER:
        c = lanes.least(lanes.most(c, 0.0), sizes)
    return c, is_down


def _index(
    lanes: LaneFunctions[V], k: V, size: V, mode: AddressMode, *, moved: bool
) -> tuple[V, V | None]:
    """The texel that an index means, and whether it is one, not the border.

    Of coordinates that wrap or are mirrored, it is one texel outside at most, unless it was moved.
    """
    last = size - 1
    inside = None
    match mode:
        case AddressMode.CUBE:
            return k, None  # other faces go on there
        case AddressMode.WRAP:
            return lanes.modulo(k, size, near=not moved), None
        case AddressMode.MIRROR if moved:
            folded = lanes.modulo(k, size << 1, near=False)
            return lanes.where(folded < size, folded, (size << 1) - 1 - folded), None
        case AddressMode.MIRROR | AddressMode.MIRROR_ONCE:
            k = lanes.where(k < 0, -1 - k, k)
        case _ if mode.has_border:
            inside = (k >= 0) & (k < size)
    return lanes.least(lanes.most(k, 0), last), inside


def six_bits(lanes: LaneFunctions[V], offset: V) -> V:
    """The signed number that `gather4_po` takes of a parameter."""
    return (offset + 32 & 63) - 32


def layer(lanes: LaneFunctions[V], coordinate: V, layers: V) -> V:
    """The array element that a coordinate means: rounded to nearest even, clamped."""
    c = lanes.where(lanes.equal(coordinate, coordinate), coordinate, 0.0)
    rounded = lanes.rint(lanes.least(lanes.most(c, -1.0), lanes.single(layers)))
    return lanes.least(lanes.most(lanes.integer(rounded), 0), layers - 1)
