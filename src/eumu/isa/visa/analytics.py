"""Video analytics: convolution, morphology, local binary patterns, searches in images.

No vISA page describes them and Intel's front end reads them in object files alone; the text is what
its printer makes of these, the form what its reader takes.  What they compute is in the C for Metal
Language Specification, "Video Analytics Functions", as far as it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, RawDst, RawSrc, Scalar, Surface
from eumu.isa.kinds.media import ConvolveMode, ConvolveModeKind, WordKind, WordSourceKind
from eumu.isa.kinds.sampler import SamplerKind
from eumu.isa.kinds.variables import SamplerVariable
from eumu.isa.limits import Limits, since
from eumu.isa.spec import Fidelity
from eumu.isa.visa.registry import opcode
from eumu.isa.visa.sample_8x8 import GREEN_ONLY, Asked, OutputSurface, code, corner, media_message
from eumu.messages import UNDESCRIBED
from eumu.types import UD

KERNELS = Fidelity(
    "approximate", "where the centre of a kernel lies is not public; taken as half its size"
)
LINES = Fidelity(
    "approximate", "where a kernel of one dimension has its coefficients is not public"
)

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
MinMaxWord = Annotated[str, WordKind("what is found", *_MINMAX, usual=_MINMAX[1])]
PixelFormat = Annotated[str, WordKind("pixels", *_FORMATS)]
Pixels = Annotated[str, WordKind("pixels", *_PIXELS, numbers=(0, 2, 3))]
SinglePixels = Annotated[str, WordKind("pixels", *_PIXELS, numbers=(0, 2, 3), usual="1x16")]
Pattern = Annotated[str, WordKind("pattern", "VA_5x5_mode", "VA_3x3_mode", "VA_BOTH_mode")]
Connection = Annotated[str, WordKind("neighbours", "4_connect", "8_connect")]

LIMITS = Limits(slm=frozenset(), texels=True)


# Body, sub-opcode, name, text behind the name, layout behind the sub-opcode, the manual's line.
Row = tuple[Callable[..., None], int, str, str, str, str]


_TO_SURFACE = {0x14: 0xD, 0x15: 0xC}  # functions that nothing is known of, to another surface


def _fidelity(sub: int) -> Fidelity:
    if reason := UNDESCRIBED.get(_TO_SURFACE.get(sub, sub)):
        return Fidelity("unsupported", reason)
    return LINES if sub in (0x08, 0x09, 0x16, 0x17) else KERNELS


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
        fidelity=_fidelity(sub),
        layout=f"sub {layout}",
        doc=doc,
    )(body)


# ---- of one opcode


def _convolve(
    b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, mode: Convolved,
    dst: RawDst,
) -> None:  # fmt: skip
    result = {"VA_CONV_16x4": (0, 128), "VA_CONV_16x1": (2, 32)}.get(mode.result)
    if result is None:
        raise Unsupported("a convolution of one pixel, which only CONV_1PIXEL is documented with")
    last = b.const(UD, code(1, result[0], int(mode.kernel == "31x31")))
    asked = Asked(GREEN_ONLY, corner(b, u, v, last))
    media_message(b, surface, sampler, asked, dst, result[1])


def _morph(function: int) -> Callable[..., None]:
    def body(
        b: InstBuilder,
        surface: Surface,
        sampler: Sampler,
        u: Scalar,
        v: Scalar,
        block: Block,
        dst: RawDst,
    ) -> None:
        sequence = ("VA_ED_64x4", "VA_ED_32x4", "VA_ED_64x1", "VA_ED_32x1").index(block)
        last = b.const(UD, code(function, sequence, 3))
        size = (32, 32, 8, 4)[sequence]
        media_message(b, surface, sampler, Asked(GREEN_ONLY, corner(b, u, v, last)), dst, size)

    return body


def _minmax(
    b: InstBuilder, surface: Surface, u: Scalar, v: Scalar, extremes: MinMax, dst: RawDst
) -> None:
    raise Unsupported(UNDESCRIBED[0x2])


def _minmax_filter(
    b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, format: Format,
    pixels: Filtered, extremes: Scalar, dst: RawDst,
) -> None:  # fmt: skip
    formats = {"AVS_16_FULL": (0, 4), "AVS_8_FULL": (2, 2)}
    if format not in formats:
        raise Unsupported(f"minimum and maximum as {format}")
    control, each = formats[format]
    sequence, count = {"VA_MMF_16x4": (0, 64), "VA_MMF_16x1": (2, 16), "VA_MMF_1x1": (3, 1)}[pixels]
    mode = b.shl(b.and_(b.convert(extremes, UD), b.const(UD, 3)), b.const(UD, 23))
    last = b.or_(b.const(UD, code(3, sequence)), mode)
    asked = Asked(GREEN_ONLY | control << 18, corner(b, u, v, last))
    media_message(b, surface, sampler, asked, dst, max(4, count * each))


def _centroid(
    b: InstBuilder, surface: Surface, u: Scalar, v: Scalar, height: Scalar, dst: RawDst
) -> None:
    raise Unsupported(UNDESCRIBED[0x7])


def _bool_centroid(
    b: InstBuilder,
    surface: Surface,
    u: Scalar,
    v: Scalar,
    height: Scalar,
    width: Scalar,
    dst: RawDst,
) -> None:
    raise Unsupported(UNDESCRIBED[0x6])


_PLACE = "{surface} {u} {v}"
_SAMPLED = "{surface} {sampler} {u} {v}"
_MEASURES: tuple[Row, ...] = (
    (_convolve, 0x01, "convolve", f"{_SAMPLED} {{mode}} {{dst}}", "sampler surface u v mode dst",
     "Pixels from (u, v) on, convolved with the sampler's kernel."),
    (_minmax, 0x02, "minmax", f"{_PLACE} {{extremes}} {{dst}}", "surface u v extremes dst",
     "The least and the greatest pixel from (u, v) on."),
    (_minmax_filter, 0x03, "minmaxfilter", f"{_SAMPLED} {{format}} {{pixels}} {{extremes}} {{dst}}",
     "sampler surface u v format pixels extremes dst",
     "The least or the greatest pixel around each one from (u, v) on."),
    (_morph(0x4), 0x04, "erode", f"{_SAMPLED} {{block}} {{dst}}", "sampler surface u v block dst",
     "Bits from (u, v) on, eroded: set if all bits of the sampler's kernel are set."),
    (_morph(0x5), 0x05, "dilate", f"{_SAMPLED} {{block}} {{dst}}", "sampler surface u v block dst",
     "Bits from (u, v) on, dilated: set if any bit of the sampler's kernel is set."),
    (_bool_centroid, 0x06, "boolcentroid", f"{_PLACE} {{height}} {{width}} {{dst}}",
     "surface u v height width dst", "The centre of the bits that are set from (u, v) on."),
    (_centroid, 0x07, "centroid", f"{_PLACE} {{height}} {{dst}}", "surface u v height dst",
     "The centre of gravity of the pixels from (u, v) on."),
)  # fmt: skip


# ---- of the other, since Gen9


def _convolve_line(function: int) -> Callable[..., None]:
    def body(
        b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: Pixels,
        dst: RawDst,
    ) -> None:  # fmt: skip
        if pixels == "1x1":
            raise Unsupported("a convolution of one pixel along a line, which is not documented")
        sequence, size = {"4x16": (0, 128), "1x16": (2, 32)}[pixels]
        last = b.const(UD, code(function, sequence, 3))
        media_message(b, surface, sampler, Asked(GREEN_ONLY, corner(b, u, v, last)), dst, size)

    return body


def _convolve_pixels(
    b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: SinglePixels,
    offsets: RawSrc, dst: RawDst,
) -> None:  # fmt: skip
    if pixels == "4x16":
        raise Unsupported("a block of single pixels: 1x16 and 1x1 are documented")
    sequence, size = {"1x16": (2, 32), "1x1": (3, 2)}[pixels]
    last = b.const(UD, code(0xA, sequence, 3))
    moved = offsets if pixels == "1x16" else None
    asked = Asked(GREEN_ONLY, corner(b, u, v, last), moved)
    media_message(b, surface, sampler, asked, dst, size)


def _flood_fill(
    b: InstBuilder, neighbours: Connection, across: RawSrc, left: Scalar, right: Scalar,
    loops: Scalar, dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(UNDESCRIBED[0xB])


def _create_pattern(
    b: InstBuilder, surface: Surface, u: Scalar, v: Scalar, pattern: Pattern, dst: RawDst
) -> None:
    raise Unsupported(UNDESCRIBED[0xC])


def _correlate(
    b: InstBuilder, surface: Surface, u: Scalar, v: Scalar, disparity: Scalar, dst: RawDst
) -> None:
    raise Unsupported(UNDESCRIBED[0xD])


def _search(
    b: InstBuilder, surface: Surface, u: Scalar, v: Scalar, origin_y: Scalar, origin_x: Scalar,
    width: Scalar, height: Scalar, search_width: Scalar, search_height: Scalar, dst: RawDst,
) -> None:  # fmt: skip
    raise Unsupported(UNDESCRIBED[0xF])


_PATTERNS: tuple[Row, ...] = (
    (_convolve_line(0x8), 0x08, "CONV_1D_HORIZONTAL", f"{_SAMPLED} {{pixels}} {{dst}}",
     "sampler surface u v pixels dst",
     "Pixels convolved along a column; Intel's printer has the names of 8 and 9 the wrong way."),
    (_convolve_line(0x9), 0x09, "CONV_1D_VERTICAL", f"{_SAMPLED} {{pixels}} {{dst}}",
     "sampler surface u v pixels dst", "Pixels convolved along a row."),
    (_convolve_pixels, 0x0A, "CONV_1PIXEL", f"{_SAMPLED} {{pixels}} {{offsets}} {{dst}}",
     "sampler surface u v pixels offsets dst", "Single pixels, convolved."),
    (_flood_fill, 0x0B, "FLOOD_FILL", "{neighbours} {across} {left} {right} {loops} {dst}",
     "neighbours across left right loops dst", "Bits that are connected to others."),
    (_create_pattern, 0x0C, "LBP_CREATION", f"{_PLACE} {{pattern}} {{dst}}",
     "surface u v pattern dst", "Local binary patterns: the neighbours that are greater."),
    (_correlate, 0x0D, "LBP_CORRELATION", f"{_PLACE} {{disparity}} {{dst}}",
     "surface u v disparity dst", "How well such patterns agree at a distance."),
    (_search, 0x0F, "CORRELATION_SEARCH",
     f"{_PLACE} {{origin_y}} {{origin_x}} {{width}} {{height}} {{search_width}} {{search_height}}"
     " {dst}",
     "surface u v origin_y origin_x width height search_width search_height dst",
     "Where a block of pixels agrees best with another."),
)  # fmt: skip


# ---- with results in another surface


def _target(surface: Surface, x: Value, y: Value, pixels: str) -> OutputSurface:
    """The numbers of the formats are those of the header."""
    return OutputSurface(surface, x, y, {"VA_Y16_FORMAT": 6, "VA_Y8_FORMAT": 5}[pixels])


def _convolve_to(
    b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, mode: ConvolvedTo,
    target: Surface, x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    last = b.const(UD, code(1, 0, int(mode.kernel == "31x31")))
    there = _target(target, x, y, mode.result)
    media_message(b, surface, sampler, Asked(GREEN_ONLY, corner(b, u, v, last)), there)


def _line_to(function: int) -> Callable[..., None]:
    def body(
        b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar,
        pixels: PixelFormat, target: Surface, x: Scalar, y: Scalar,
    ) -> None:  # fmt: skip
        last = b.const(UD, code(function, 0, 3))
        there = _target(target, x, y, pixels)
        media_message(b, surface, sampler, Asked(GREEN_ONLY, corner(b, u, v, last)), there)

    return body


def _pixels_to(
    b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: PixelFormat,
    offsets: RawSrc, target: Surface, x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    last = b.const(UD, code(0xA, 0, 3))
    asked = Asked(GREEN_ONLY, corner(b, u, v, last), offsets)
    media_message(b, surface, sampler, asked, _target(target, x, y, pixels))


def _filter_to(
    b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, pixels: PixelFormat,
    extremes: MinMaxWord, target: Surface, x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    mode = _MINMAX.index(extremes)
    if not mode:
        raise Unsupported("minimum and maximum to a surface, which takes one of them")
    last = b.const(UD, code(3, 0, mode))
    control = GREEN_ONLY | (2 << 18 if pixels == "VA_Y8_FORMAT" else 0)
    asked = Asked(control, corner(b, u, v, last))
    media_message(b, surface, sampler, asked, _target(target, x, y, pixels))


def _morph_to(function: int) -> Callable[..., None]:
    def body(
        b: InstBuilder, surface: Surface, sampler: Sampler, u: Scalar, v: Scalar, target: Surface,
        x: Scalar, y: Scalar,
    ) -> None:  # fmt: skip
        last = b.const(UD, code(function, 0, 3))
        there = _target(target, x, y, "VA_Y8_FORMAT")
        media_message(b, surface, sampler, Asked(GREEN_ONLY, corner(b, u, v, last)), there)

    return body


def _correlate_to(
    b: InstBuilder, surface: Surface, u: Scalar, v: Scalar, disparity: Scalar, target: Surface,
    x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(UNDESCRIBED[0xD])


def _pattern_to(
    b: InstBuilder, surface: Surface, u: Scalar, v: Scalar, pattern: Pattern, target: Surface,
    x: Scalar, y: Scalar,
) -> None:  # fmt: skip
    raise Unsupported(UNDESCRIBED[0xC])


_TO = "{target} {x} {y}"
_LINE_TO = f"{_SAMPLED} {{pixels}} {_TO}"
_TO_SURFACES: tuple[Row, ...] = (
    (_convolve_to, 0x10, "HDC_CONVOLVE_2D", f"{_SAMPLED} {{mode}} {_TO}",
     "sampler surface u v mode target x y", "As convolve, to another surface."),
    (_filter_to, 0x11, "HDC_MIN_MAX_FILTER", f"{_SAMPLED} {{pixels}} {{extremes}} {_TO}",
     "sampler surface u v pixels extremes target x y", "As minmaxfilter, to another surface."),
    (_morph_to(0x4), 0x12, "HDC_ERODE", f"{_SAMPLED} {_TO}", "sampler surface u v target x y",
     "As erode, to another surface."),
    (_morph_to(0x5), 0x13, "HDC_DILATE", f"{_SAMPLED} {_TO}", "sampler surface u v target x y",
     "As dilate, to another surface."),
    (_correlate_to, 0x14, "HDC_LBP_CORRELATION", f"{_PLACE} {{disparity}} {_TO}",
     "surface u v disparity target x y", "As LBP_CORRELATION, to another surface."),
    (_pattern_to, 0x15, "HDC_LBP_CREATION", f"{_PLACE} {{pattern}} {_TO}",
     "surface u v pattern target x y", "As LBP_CREATION, to another surface."),
    (_line_to(0x9), 0x16, "HDC_CONVOLVE_1D_H", _LINE_TO, "sampler surface u v pixels target x y",
     "Pixels convolved along a row, to another surface."),
    (_line_to(0x8), 0x17, "HDC_CONVOLVE_1D_V", _LINE_TO, "sampler surface u v pixels target x y",
     "Pixels convolved along a column, to another surface."),
    (_pixels_to, 0x18, "HDC_CONVOLVE_1P", f"{_SAMPLED} {{pixels}} {{offsets}} {_TO}",
     "sampler surface u v pixels offsets target x y", "As CONV_1PIXEL, to another surface."),
)  # fmt: skip

for _given in (*_MEASURES, *_PATTERNS, *_TO_SURFACES):
    _row(*_given)
