"""The texels of a footprint and how they become one value: mixed, compared, gathered.

Texels are mixed in float32, x first, then y, z and mip levels: a + (b - a) * w with weights of
eight bits.  A texel of weight 0 takes no part.  Values may be channels or whole texels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from eumu.device.lanes import LaneFunctions, V
from eumu.device.sampler.addressing import Taps
from eumu.device.state.sampler import PrefilterOp, Reduction
from eumu.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Corner(Generic[V]):
    """A texel of a footprint: index in each dimension, where it exists (None: everywhere)."""

    place: tuple[V, ...]
    inside: V | None


def corners(taps: Sequence[Taps[V]]) -> list[Corner[V]]:
    """The texels of a footprint, x fastest."""
    some: list[Corner[V]] = [Corner((), None)]
    for tap in taps:
        some = [
            Corner((*corner.place, k), _both(corner.inside, inside))
            for k, inside in zip(tap.indices, tap.inside, strict=True)
            for corner in some
        ]
    return some


def _both(a: V | None, b: V | None) -> V | None:
    if a is None or b is None:
        return a if b is None else b
    return a & b


def reduced(values: Sequence[T], taps: Sequence[Taps[V]], join: Callable[[T, T, V], T]) -> T:
    """One value of those at the corners: pairs are joined by a weight, x first."""
    for tap in taps:
        if tap.weight is not None:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [join(a, b, tap.weight) for a, b in pairs]
    return values[0]


def mix(lanes: LaneFunctions[V], a: V, b: V, weight: V, *, exact: bool = True) -> V:
    """a + (b - a) * weight; a where it is b or the weight is 0, which is seen in inexact numbers
    only if they are infinite, NaN or a negative zero.
    """
    mixed = a + (b - a) * weight
    if not exact:
        return mixed
    return lanes.where(lanes.equal(weight, 0.0) | lanes.equal(a, b), a, mixed)


def without_denormals(lanes: LaneFunctions[V], texel: V) -> V:
    """A float of 32 bits as a sample has it: denormal numbers are zeros of their sign.

    Intel's compiler makes the same of what `ld` reads, so that both reads of an image agree.
    """
    bits = lanes.bits(texel)
    is_denormal = lanes.equal(bits & 0x7F80_0000, 0)
    return lanes.where(is_denormal, lanes.from_bits(bits & 0x8000_0000), texel)


def extreme(
    lanes: LaneFunctions[V], reduction: Reduction, a: V, b: V, weight: V, *, exact: bool = True
) -> V:
    """The lesser or the greater number, a where the weight of b is 0; of NaN the other."""
    is_better = b < a if reduction is Reduction.MINIMUM else b > a
    if exact:
        is_better = is_better | lanes.differ(a, a)
    return lanes.where(is_better & lanes.differ(weight, 0.0), b, a)


def compared(
    lanes: LaneFunctions[V], op: PrefilterOp, red: V, reference: V, *, is_normalized: bool
) -> V:
    """sample_c: 0 where `red op reference` holds, else 1; normalized numbers are 0 to 1."""
    if is_normalized:  # NaN stays
        reference = lanes.where(reference < 0.0, 0.0, reference)
        reference = lanes.where(reference > 1.0, 1.0, reference)
    match op:
        case PrefilterOp.ALWAYS:
            return lanes.constant(0.0)
        case PrefilterOp.NEVER:
            return lanes.constant(1.0)
        case PrefilterOp.LESS:
            holds = red < reference
        case PrefilterOp.EQUAL:
            holds = lanes.equal(red, reference)
        case PrefilterOp.LEQUAL:
            holds = red <= reference
        case PrefilterOp.GREATER:
            holds = red > reference
        case PrefilterOp.NOTEQUAL:
            holds = lanes.differ(red, reference)
        case PrefilterOp.GEQUAL:
            holds = red >= reference
    return lanes.where(~holds, lanes.constant(1.0), 0.0)


def gathered(corners: Sequence[T]) -> tuple[T, T, T, T]:
    """The texels of a footprint in gather4's order; the one row of a 1D surface is both."""
    upper_left, upper_right = corners[:2]
    lower_left, lower_right = corners[-2:]
    return lower_left, lower_right, upper_right, upper_left
