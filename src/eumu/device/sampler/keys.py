"""Chroma keys: texels in a range of colours that the sampler makes black, or kills.

A range is a low and a high value of 3DSTATE_CHROMA_KEY, inclusive, with alpha in bits 31:24, red or
Cr in 23:16, green or Y in 15:8, blue or Cb in 7:0.  A killed pixel is seen only by messages that
return the pixel mask, sample+killpix, which are not modelled; to others a key that kills is none.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.sampler import KeyMode, SamplerState
from eumu.device.surfaces.formats import Encoding, Numbers, TexelFormat
from eumu.errors import Unsupported
from eumu.records import dataclass

Lanes = NDArray[Any]

_SHIFTS: Final = (16, 8, 0, 24)  # of red, green, blue, alpha
_BLACK: Final = (0, 0, 0, 0)
_BLACK_YUV: Final = (0x80, 0x10, 0x80, 0)
_YUV: Final = (Encoding.PACKED_422, Encoding.PLANAR)


@dataclass(frozen=True, slots=True)
class Key:
    """A range that is replaced: least and greatest code of each channel, and what black is."""

    channels: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    black: tuple[int, ...]

    def replaced(self, texels: Lanes) -> Lanes:
        """Texels [N, 4] in the range are black."""
        codes = np.rint(texels.astype(np.float64) * 255)
        inside = np.ones(len(texels), bool)
        for k in self.channels:
            inside &= (codes[:, k] >= self.low[k]) & (codes[:, k] <= self.high[k])
        black = np.array(self.black, np.float32) / np.float32(255)
        replaced: Lanes = np.where(inside[:, None], black, texels)
        return replaced


def key_of(sampler: SamplerState, format: TexelFormat, value: tuple[int, int]) -> Key | None:
    """What a sampler replaces; `value` is the low and the high one that its index selects.

    A channel that the format lacks is in every range.
    """
    if not sampler.chromakey_enable:
        return None
    is_yuv = format.encoding in _YUV
    octets = all(c.size == 8 and c.numbers is Numbers.UNORM and not c.srgb for c in format.channels)
    if not is_yuv and not (octets and format.encoding is Encoding.PLAIN):
        raise Unsupported(f"chroma keys of {format.name}: only channels of eight bits are defined")
    if sampler.chromakey_mode is not KeyMode.REPLACE_BLACK:
        return None
    low, high = (tuple(v >> shift & 0xFF for shift in _SHIFTS) for v in value)
    return Key(tuple(sorted(format.outputs)), low, high, _BLACK_YUV if is_yuv else _BLACK)
