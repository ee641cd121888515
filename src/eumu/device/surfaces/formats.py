"""What the texels of a surface format are, read off its name.

`B5G6R5_UNORM_SRGB` has, from the lowest bit on, five bits of blue, six of green and five of red,
all normalised unsigned numbers; red, green and blue are in the sRGB transfer function.  L stands
for red, green and blue at once, I for all four channels, X for bits without a meaning.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import Final

from eumu.device.state.codes import SurfaceFormat
from eumu.records import dataclass


class Numbers(Enum):
    """How the bits of a channel are read."""

    UNORM = "UNORM"
    SNORM = "SNORM"
    UINT = "UINT"
    SINT = "SINT"
    FLOAT = "FLOAT"
    USCALED = "USCALED"
    SSCALED = "SSCALED"
    SHAREDEXP = "SHAREDEXP"
    NONE = "TYPELESS"

    @property
    def is_integer(self) -> bool:
        return self in (Numbers.UINT, Numbers.SINT)


class Encoding(Enum):
    """How texels lie in a block."""

    PLAIN = "plain"  # each on its own
    BC = "bc"  # block compressed, 4 x 4
    PACKED_422 = "4:2:2"  # pairs that share their chrominance
    PLANAR = "planar"  # a plane of luma, one of pairs of chrominance at half its size
    RAW = "raw"  # bytes without a format
    OTHER = "other"  # not modelled


@dataclass(frozen=True, slots=True)
class Channel:
    """`size` bits from bit `shift` of the texel on, for the outputs `to` (0 red … 3 alpha)."""

    name: str
    shift: int
    size: int
    numbers: Numbers
    to: tuple[int, ...]
    srgb: bool = False


@dataclass(frozen=True, slots=True)
class TexelFormat:
    """One surface format: `block` texels (width, height) take `bytes` bytes."""

    code: SurfaceFormat
    encoding: Encoding
    bytes: int
    channels: tuple[Channel, ...] = ()
    block: tuple[int, int] = (1, 1)

    @property
    def name(self) -> str:
        return self.code.name

    @property
    def is_integer(self) -> bool:
        """Whether sampling gives integers, which cannot be filtered."""
        return any(c.numbers.is_integer for c in self.channels)

    @property
    def outputs(self) -> frozenset[int]:
        """The channels that the format has; the others read as 0, alpha as 1."""
        if self.encoding is Encoding.BC:
            return _BC_OUTPUTS.get(self.name[:3], frozenset({0, 1, 2, 3}))
        if self.encoding in (Encoding.PACKED_422, Encoding.PLANAR):
            return frozenset({0, 1, 2})
        return frozenset(k for c in self.channels for k in c.to)

    @property
    def has_wide_floats(self) -> bool:
        """Whether a channel is a float of 32 bits, which may be denormal."""
        return any(c.numbers is Numbers.FLOAT and c.size == 32 for c in self.channels)

    @property
    def has_unorm_red(self) -> bool:
        """Whether red, which `sample_c` compares, is from 0 to 1."""
        return any(c.numbers is Numbers.UNORM and 0 in c.to for c in self.channels)

    @property
    def element_bits(self) -> int:
        """The bits of every channel if all have as many, else 0."""
        sizes = {c.size for c in self.channels}
        return sizes.pop() if len(sizes) == 1 else 0


_BC_OUTPUTS: Final = {"BC4": frozenset({0}), "BC5": frozenset({0, 1}), "BC6": frozenset({0, 1, 2})}
_BC_BYTES: Final = {"BC1": 8, "BC2": 16, "BC3": 16, "BC4": 8, "BC5": 16, "BC6": 16, "BC7": 16}
_OUTPUTS: Final = {
    "R": (0,),
    "G": (1,),
    "B": (2,),
    "A": (3,),
    "L": (0, 1, 2),
    "I": (0, 1, 2, 3),
    "Y": (0, 1, 2),
    "X": (),
}
_PART: Final = re.compile(
    r"((?:[RGBALIYX]\d+)+)_(UNORM|SNORM|UINT|SINT|FLOAT|USCALED|SSCALED|TYPELESS)(?:_|$)"
)
_CHANNEL: Final = re.compile(r"([RGBALIYX])(\d+)")
_MIXED: Final = re.compile(r"[A-Z0-9]+X8X24|X32_TYPELESS")


@cache
def texel_format(code: SurfaceFormat) -> TexelFormat:
    """What the texels of a format are."""
    name = code.name
    if name == "RAW":
        return TexelFormat(code, Encoding.RAW, 1)
    if name[:2] == "BC" and name[:3] in _BC_BYTES:
        return TexelFormat(code, Encoding.BC, _BC_BYTES[name[:3]], block=(4, 4))
    if name.startswith("YCRCB"):
        return TexelFormat(code, Encoding.PACKED_422, 4, block=(2, 1))
    if name == "PLANAR_420_8":
        return TexelFormat(code, Encoding.PLANAR, 1)
    if name == "R9G9B9E5_SHAREDEXP":
        shared = tuple(
            Channel("RGB"[k], 9 * k, 9, Numbers.SHAREDEXP, (k,), False) for k in range(3)
        )
        return TexelFormat(code, Encoding.PLAIN, 4, shared)
    if name == "R32_FLOAT_X8X24_TYPELESS":
        return TexelFormat(code, Encoding.PLAIN, 8, (Channel("R", 0, 32, Numbers.FLOAT, (0,)),))
    if name == "X32_TYPELESS_G8X24_UINT":
        return TexelFormat(code, Encoding.PLAIN, 8, (Channel("G", 32, 8, Numbers.UINT, (1,)),))
    return _plain(code)


def _plain(code: SurfaceFormat) -> TexelFormat:
    name = code.name
    srgb = name.endswith("_SRGB")
    rest, shift = name.removesuffix("_SRGB").removesuffix("_LD"), 0
    channels = []
    while match := _PART.match(rest):
        numbers = Numbers(match[2])
        for letter, digits in _CHANNEL.findall(match[1]):
            size, to = int(digits), _OUTPUTS[letter]
            if to and numbers is not Numbers.NONE:
                linear = not srgb or letter == "A"
                channels.append(Channel(letter, shift, size, numbers, to, not linear))
            shift += size
        rest = rest[match.end() :]
    if rest or not channels or shift % 8 or any(c.size > 32 for c in channels):
        return TexelFormat(code, Encoding.OTHER, 0)
    return TexelFormat(code, Encoding.PLAIN, shift // 8, tuple(channels))
