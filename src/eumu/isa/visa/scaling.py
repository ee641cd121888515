"""Adaptive video scaling."""

from __future__ import annotations

from typing import Annotated

from eumu.isa.kinds import InstBuilder, RawDst, Scalar, Surface
from eumu.isa.kinds.media import WordKind
from eumu.isa.kinds.raw import ChannelsKind
from eumu.isa.kinds.sampler import SamplerKind
from eumu.isa.kinds.variables import SamplerVariable
from eumu.isa.limits import Limits, fields
from eumu.isa.spec import Fidelity
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.isa.visa.sample_8x8 import Asked, code, floating, media_message
from eumu.types import UB, UD, F

SCALER = Fidelity(
    "approximate",
    "how the filter rounds between its two passes is not public; its adaptive part, whose equations"
    " are not, must be bypassed",
)

_FORMATS = ("AVS_16_FULL", "AVS_16_DOWN_SAMPLE", "AVS_8_FULL", "AVS_8_DOWN_SAMPLE")
_PIXELS = {"AVS_16x4": 64, "AVS_8x4": 32, "AVS_16x8": 128, "AVS_4x4": 16}
_CHROMA = frozenset({0, 2})

Channels = Annotated[tuple[int, ...], ChannelsKind()]
Sampler = Annotated[SamplerVariable, SamplerKind()]
Format = Annotated[str, WordKind("format", *_FORMATS, mask=15)]
Pixels = Annotated[str, WordKind("pixels", *_PIXELS, mask=15)]

_SCALING = dict.fromkeys(("u", "v", "delta_u", "delta_v", "u2d", "v2d"), (F,))
AVS = fields(maps.DOCUMENTED, **_SCALING, group_id=(UD,), vertical_block=(UD,), ief_bypass=(UB,))


@opcode(
    0x43,
    "avs.{channels} {surface} {sampler} {u} {v} {delta_u} {delta_v} {u2d} {group_id}"
    " {vertical_block} {format} {v2d} {pixels} {ief_bypass} {dst}",
    page="AVS",
    types=AVS,
    limits=Limits(slm=frozenset(), texels=True),
    fidelity=SCALER,
    layout=(
        "channels sampler surface u v delta_u delta_v u2d group_id vertical_block format v2d"
        " pixels ief_bypass dst"
    ),
)
def avs(
    b: InstBuilder,
    channels: Channels,
    surface: Surface,
    sampler: Sampler,
    u: Scalar,
    v: Scalar,
    delta_u: Scalar,
    delta_v: Scalar,
    u2d: Scalar,
    group_id: Scalar,
    vertical_block: Scalar,
    format: Format,
    v2d: Scalar,
    pixels: Pixels,
    ief_bypass: Scalar,
    dst: RawDst,
) -> None:
    """Scaled pixels from (u, v) on, each filtered from eight or four neighbours on a line."""
    control = _FORMATS.index(format)
    masked = sum(1 << 12 + c for c in range(4) if c not in channels)
    asked = list(_PIXELS).index(pixels)
    group = b.and_(b.convert(group_id, UD), b.const(UD, (1 << 23) - 1))
    bypass = b.and_(b.convert(ief_bypass, UD), b.const(UD, 1))
    last = b.or_(b.or_(group, b.const(UD, code(0, asked))), b.shl(bypass, b.const(UD, 27)))
    floats = {0: v2d, 2: u, 3: v, 4: delta_u, 5: delta_v, 6: u2d}
    words = {place: floating(b, x) for place, x in floats.items()}
    words |= {1: b.convert(vertical_block, UD), 7: last}
    size = _size(channels, control, _PIXELS[pixels])
    media_message(b, surface, sampler, Asked(masked | control << 18, words), dst, size)


def _size(channels: tuple[int, ...], control: int, pixels: int) -> int:
    """Bytes of the response; where red or blue leaves a place free, with that place."""
    wide = 1 if control & 2 else 2
    places = set(channels)
    if control == 3 and places & _CHROMA:
        places |= _CHROMA
    return sum(pixels * wide >> (control & 1 and c in _CHROMA) for c in places)
