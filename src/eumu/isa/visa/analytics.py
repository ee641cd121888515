"""Video analytics: convolution, morphology, local binary patterns, searches in images.

No page describes them and Intel's front end reads them in object files alone; the text is what its
printer makes of these, the form what its reader takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import Meaning, RawDst, RawSrc, Scalar, Surface
from eumu.isa.kinds.media import ConvolveMode, ConvolveModeKind, WordKind, WordSourceKind
from eumu.isa.kinds.sampler import SamplerKind
from eumu.isa.kinds.variables import SamplerVariable
from eumu.isa.limits import Limits, since
from eumu.isa.spec import Fidelity
from eumu.isa.visa.registry import opcode

REASON = "no public page says what video analytics compute"
ANALYTICS = Fidelity("unsupported", REASON)

_MINMAX = ("VA_MINMAX_ENABLE", "VA_MAX_ENABLE", "VA_MIN_ENABLE")
_FORMATS = ("VA_Y16_FORMAT", "VA_Y8_FORMAT")
_PIXELS = ("4x16", "1x16", "1x1")

Sampler = Annotated[SamplerVariable, SamplerKind()]
Convolved = Annotated[
    ConvolveMode,
    ConvolveModeKind(
        WordKind("pixels", "VA_CONV_16x4", "VA_CONV_16x1", "VA_CONV_1x1", numbers=(0, 2, 3)),
        kernel_bit=4,
    ),
]
ConvolvedTo = Annotated[ConvolveMode, ConvolveModeKind(WordKind("pixels", *_FORMATS), kernel_bit=4)]
Block = Annotated[str, WordKind("pixels", "VA_ED_64x4", "VA_ED_32x4", "VA_ED_64x1", "VA_ED_32x1")]
Format = Annotated[
    str,
    WordKind("format", "AVS_16_FULL", "AVS_16_DOWN_SAMPLE", "AVS_8_FULL", "AVS_8_DOWN_SAMPLE"),
]
Filtered = Annotated[
    str, WordKind("pixels", "VA_MMF_16x4", "VA_MMF_16x1", "VA_MMF_1x1", numbers=(0, 2, 3))
]
MinMax = Annotated[Value, WordSourceKind("what is found", *_MINMAX)]
MinMaxWord = Annotated[str, WordKind("what is found", *_MINMAX)]
PixelFormat = Annotated[str, WordKind("pixels", *_FORMATS)]
Pixels = Annotated[str, WordKind("pixels", *_PIXELS, numbers=(0, 2, 3))]
Pattern = Annotated[str, WordKind("pattern", "VA_5x5_mode", "VA_3x3_mode", "VA_BOTH_mode")]
Connection = Annotated[str, WordKind("neighbours", "4_connect", "8_connect")]

LIMITS = Limits(slm=frozenset(), texels=True)


# Body, sub-opcode, name, text behind the name, layout behind the sub-opcode, the manual's line.
Row = tuple[Callable[..., None], int, str, str, str, str]


def _row(body: Callable[..., None], sub: int, word: str, text: str, layout: str, doc: str) -> None:
    """Declare a row; `text` follows the name, `layout` the sub-opcode."""
    newer = sub >= 0x08
    opcode(
        0x4D if newer else 0x44,
        f"{'va_skl_plus' if newer else 'va'}.{word} {text}",
        sub=sub,
        page="VA",
        platforms=since("skl") if newer else None,
        limits=LIMITS,
        fidelity=ANALYTICS,
        layout=f"sub {layout}",
        doc=doc,
    )(body)


# ---- of one opcode


def _convolve(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, mode: Convolved,
    dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _morph(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, block: Block, dst: RawDst
) -> None:
    raise Unsupported(REASON)


def _minmax(b: Meaning, surface: Surface, u: Scalar, v: Scalar, found: MinMax, dst: RawDst) -> None:
    raise Unsupported(REASON)


def _minmax_filter(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, format: Format,
    pixels: Filtered, found: Scalar, dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _centroid(
    b: Meaning, surface: Surface, u: Scalar, v: Scalar, height: Scalar, dst: RawDst
) -> None:
    raise Unsupported(REASON)


def _bool_centroid(
    b: Meaning, surface: Surface, u: Scalar, v: Scalar, height: Scalar, width: Scalar, dst: RawDst
) -> None:
    raise Unsupported(REASON)


_PLACE = "{surface} {u} {v}"
_SAMPLED = "{surface} {sampler} {u} {v}"
_MEASURES: tuple[Row, ...] = (
    (_convolve, 0x01, "convolve", f"{_SAMPLED} {{mode}} {{dst}}", "sampler surface u v mode dst",
     "Pixels from (u, v) on, convolved with the sampler's kernel."),
    (_minmax, 0x02, "minmax", f"{_PLACE} {{found}} {{dst}}", "surface u v found dst",
     "The least and the greatest pixel from (u, v) on."),
    (_minmax_filter, 0x03, "minmaxfilter", f"{_SAMPLED} {{format}} {{pixels}} {{found}} {{dst}}",
     "sampler surface u v format pixels found dst",
     "The least or the greatest pixel around each one from (u, v) on."),
    (_morph, 0x04, "erode", f"{_SAMPLED} {{block}} {{dst}}", "sampler surface u v block dst",
     "Bits from (u, v) on where all around are set as the sampler's kernel says."),
    (_morph, 0x05, "dilate", f"{_SAMPLED} {{block}} {{dst}}", "sampler surface u v block dst",
     "Bits from (u, v) on where any around is set as the sampler's kernel says."),
    (_bool_centroid, 0x06, "boolcentroid", f"{_PLACE} {{height}} {{width}} {{dst}}",
     "surface u v height width dst", "The centre of the bits that are set from (u, v) on."),
    (_centroid, 0x07, "centroid", f"{_PLACE} {{height}} {{dst}}", "surface u v height dst",
     "The centre of gravity of the pixels from (u, v) on."),
)  # fmt: skip


# ---- of the other, since Gen9


def _convolve_line(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: Pixels,
    dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _convolve_pixels(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: Pixels,
    offsets: RawSrc, dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _flood_fill(
    b: Meaning, neighbours: Connection, across: RawSrc, left: Scalar, right: Scalar, loops: Scalar,
    dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _create_pattern(
    b: Meaning, surface: Surface, u: Scalar, v: Scalar, pattern: Pattern, dst: RawDst
) -> None:
    raise Unsupported(REASON)


def _correlate(
    b: Meaning, surface: Surface, u: Scalar, v: Scalar, disparity: Scalar, dst: RawDst
) -> None:
    raise Unsupported(REASON)


def _search(
    b: Meaning, surface: Surface, u: Scalar, v: Scalar, origin_y: Scalar, origin_x: Scalar,
    width: Scalar, height: Scalar, search_width: Scalar, search_height: Scalar, dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


_PATTERNS: tuple[Row, ...] = (
    (_convolve_line, 0x08, "CONV_1D_HORIZONTAL", f"{_SAMPLED} {{pixels}} {{dst}}",
     "sampler surface u v pixels dst",
     "Pixels convolved along a column; Intel's printer has the names of 8 and 9 the wrong way."),
    (_convolve_line, 0x09, "CONV_1D_VERTICAL", f"{_SAMPLED} {{pixels}} {{dst}}",
     "sampler surface u v pixels dst", "Pixels convolved along a row."),
    (_convolve_pixels, 0x0A, "CONV_1PIXEL", f"{_SAMPLED} {{pixels}} {{offsets}} {{dst}}",
     "sampler surface u v pixels offsets dst", "Single pixels, convolved."),
    (_flood_fill, 0x0B, "FLOOD_FILL", "{neighbours} {across} {left} {right} {loops} {dst}",
     "neighbours across left right loops dst", "Bits that are connected to others."),
    (_create_pattern, 0x0C, "LBP_CREATION", f"{_PLACE} {{pattern}} {{dst}}",
     "surface u v pattern dst", "Which pixels around each one are greater."),
    (_correlate, 0x0D, "LBP_CORRELATION", f"{_PLACE} {{disparity}} {{dst}}",
     "surface u v disparity dst", "How well such patterns agree at a distance."),
    (_search, 0x0F, "CORRELATION_SEARCH",
     f"{_PLACE} {{origin_y}} {{origin_x}} {{width}} {{height}} {{search_width}} {{search_height}}"
     " {dst}",
     "surface u v origin_y origin_x width height search_width search_height dst",
     "Where a block of pixels agrees best with another."),
)  # fmt: skip


# ---- with results in another surface


def _convolve_to(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, mode: ConvolvedTo,
    target: Surface, x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _line_to(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: PixelFormat,
    target: Surface, x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _pixels_to(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: PixelFormat,
    offsets: RawSrc, target: Surface, x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _filter_to(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: PixelFormat,
    found: MinMaxWord, target: Surface, x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _morph_to(
    b: Meaning, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, target: Surface,
    x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _correlate_to(
    b: Meaning, surface: Surface, u: Scalar, v: Scalar, disparity: Scalar, target: Surface,
    x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


def _pattern_to(
    b: Meaning, surface: Surface, u: Scalar, v: Scalar, pattern: Pattern, target: Surface,
    x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(REASON)


_TO = "{target} {x} {y}"
_LINE_TO = f"{_SAMPLED} {{pixels}} {_TO}"
_TO_SURFACES: tuple[Row, ...] = (
    (_convolve_to, 0x10, "HDC_CONVOLVE_2D", f"{_SAMPLED} {{mode}} {_TO}",
     "sampler surface u v mode target x y", "As convolve, to another surface."),
    (_filter_to, 0x11, "HDC_MIN_MAX_FILTER", f"{_SAMPLED} {{pixels}} {{found}} {_TO}",
     "sampler surface u v pixels found target x y", "As minmaxfilter, to another surface."),
    (_morph_to, 0x12, "HDC_ERODE", f"{_SAMPLED} {_TO}", "sampler surface u v target x y",
     "As erode, to another surface."),
    (_morph_to, 0x13, "HDC_DILATE", f"{_SAMPLED} {_TO}", "sampler surface u v target x y",
     "As dilate, to another surface."),
    (_correlate_to, 0x14, "HDC_LBP_CORRELATION", f"{_PLACE} {{disparity}} {_TO}",
     "surface u v disparity target x y", "As LBP_CORRELATION, to another surface."),
    (_pattern_to, 0x15, "HDC_LBP_CREATION", f"{_PLACE} {{pattern}} {_TO}",
     "surface u v pattern target x y", "As LBP_CREATION, to another surface."),
    (_line_to, 0x16, "HDC_CONVOLVE_1D_H", _LINE_TO, "sampler surface u v pixels target x y",
     "Pixels convolved along a row, to another surface."),
    (_line_to, 0x17, "HDC_CONVOLVE_1D_V", _LINE_TO, "sampler surface u v pixels target x y",
     "Pixels convolved along a column, to another surface."),
    (_pixels_to, 0x18, "HDC_CONVOLVE_1P", f"{_SAMPLED} {{pixels}} {{offsets}} {_TO}",
     "sampler surface u v pixels offsets target x y", "As CONV_1PIXEL, to another surface."),
)  # fmt: skip

for _given in (*_MEASURES, *_PATTERNS, *_TO_SURFACES):
    _row(*_given)
