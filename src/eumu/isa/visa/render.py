"""Messages of shaders to render targets and to the URB.

`eumu.isa.messages` has their models, `pixels` and `urb`, which native messages use too.
"""

from __future__ import annotations

from typing import Annotated

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, NumberKind, Pred, RawDst, RawSrc, Rows, Surface
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.render import ReadSampleKind, RenderDataKind, RenderRows
from eumu.isa.kinds.variables import SurfaceVariable
from eumu.isa.limits import EVERY_PLATFORM, FrontEnd, Limits, fields, sizes
from eumu.isa.messages import pixels, urb
from eumu.isa.spec import Fidelity
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.memory import surface_target
from eumu.isa.visa.registry import opcode
from eumu.types import HF, UD, UW, D, F


class BoundedNumberKind(NumberKind):
    """A plain number within bounds, in a byte or (`wide`) two."""

    def __init__(self, what: str, low: int, high: int, *, wide: bool = False) -> None:
        super().__init__(what, low, high)
        self.wide = wide

    def pack(self, operand: int, out: Packer) -> None:
        if self.wide:
            out.u16(operand, self.what)
        else:
            out.u8(operand, self.what)

    def unpack(self, source: Unpacker) -> int:
        at = source.pos
        number = source.u16(self.what) if self.wide else source.u8(self.what)
        if not self.low <= number <= self.high:
            source.fail(f"{self.what} is {number}, not {self.low} to {self.high}", at)
        return number


Data = Annotated[RenderRows, RenderDataKind()]
Sample = Annotated[frozenset[str], ReadSampleKind()]
OutputCount = Annotated[int, BoundedNumberKind("the number of outputs", 1, 8)]
GlobalOffset = Annotated[int, BoundedNumberKind("the global offset in rows", 0, 2047, wide=True)]

WRITE_LIMITS = Limits(sizes=sizes(8, 16), slm=frozenset(), texels=True)
READ_LIMITS = Limits(sizes=sizes(16, 32), slm=frozenset(), texels=True)
URB_LIMITS = Limits(sizes=sizes(8))
WRITE_READ = FrontEnd(sizes=maps.OF_ANY_SIZE.sizes, slm=EVERY_PLATFORM)
URB_READ = FrontEnd(sizes=sizes(1, 8))
URB_DATA = fields(
    maps.DOCUMENTED,
    channel_mask=(UD,),
    handle=(UD,),
    slot_offset=(UD,),
    data=(UD, D, F),
)
READ_DATA = fields(maps.DOCUMENTED, dst=(F, HF))
WRITES = Fidelity(
    "approximate",
    "no blending; depth, stencil, the alpha of target 0, samples and coarse pixels are unsupported",
)
READS = Fidelity("approximate", "one sample a pixel; the pages say nothing of rounding")


def _target(b: InstBuilder, surface: SurfaceVariable) -> Value:
    target = surface_target(b, surface).surface
    if target is None:
        raise Unsupported(f"{surface.name} as a render target")
    return target


def _reject(options: frozenset[str]) -> None:
    if options & {"Z", "ST"}:
        raise Unsupported("depth and stencil buffers")
    if "A" in options:
        raise Unsupported("the alpha of target 0 for tests of alpha")
    if options & {"PS", "SI", "CPS", "CM"}:
        raise Unsupported("render targets of several samples a pixel, or of coarse pixels")


@opcode(
    0x71,
    "{pred}rt_write_3d{data.options} {exec} {surface} {data}",
    page="RT_WRITE",
    limits=WRITE_LIMITS,
    front_end=WRITE_READ,
    fidelity=WRITES,
    layout="exec pred data.options surface data.header data.scalars data.registers",
)
def rt_write_3d(b: InstBuilder, pred: Pred, surface: Surface, data: Data) -> None:
    """Write the colours of the lanes' pixels to a render target.

    The header operand is M1, the second register of the message's header: places of blocks of
    pixels in dwords 2 to 5, the mask of existing pixels in bits 15:0 of dword 7.  Intel's finalizer
    builds M0 from r0 and puts a predicate into that mask.  Without a header, M1 is r1.
    """
    _reject(data.options)
    if "NULLRT" in data.options:
        return
    mask, first = b.mask, b.exec.offset
    place = pixels.places_of_m1(b, data.header, first, b.width)
    if data.header.root is not None and pred is None:
        mask = b.and_(mask, pixels.on_in_m1(b, data.header, first, b.width))
    if "O" in data.options:
        mask = pixels.masked(b, mask, b.row_read(data.registers["omask"], 0, UW, b.width))
    colours = [_colour(b, data.registers[name]) for name in "rgba"]
    pixels.write(b, _target(b, surface), mask, place, colours)


def _colour(b: InstBuilder, rows: Rows) -> Value:
    """A colour as bits of f; what is not given is 0."""
    if rows.root is None:
        return b.const(UD, 0, b.width)
    type = HF if rows.type.size == 2 else F
    return b.bitcast(b.convert(b.row_read(rows, 0, type, b.width), F), UD)


@opcode(
    0x90,
    "{pred}rt_read{sampling.options} {exec} {surface} {sampling}{dst}",
    page="RT_READ",
    types=READ_DATA,
    limits=READ_LIMITS,
    fidelity=READS,
    layout="exec pred sampling.options surface sampling.index dst",
)
def rt_read(b: InstBuilder, surface: Surface, sampling: Sample, dst: RawDst) -> None:
    """Red, green, blue and alpha of the lanes' pixels of a render target."""
    _reject(sampling)
    place = pixels.places(b, Rows(None, 0, UD), b.exec.offset, b.width)
    read = pixels.read(b, _target(b, surface), b.mask, place)
    type = HF if dst.type.size == 2 else F
    for channel, bits in enumerate(read):
        value = b.convert(b.bitcast(bits, F), type)
        b.row_write(dst, channel * b.registers(b.width * type.size), value, b.mask)


@opcode(
    0x72,
    "{pred}urb_write_3d {exec} {outputs} {global_offset} {channel_mask} {handle} {slot_offset}"
    " {data}",
    page="URB_WRITE",
    types=URB_DATA,
    limits=URB_LIMITS,
    front_end=URB_READ,
    layout="exec pred outputs channel_mask global_offset handle slot_offset data",
)
def urb_write_3d(
    b: InstBuilder,
    outputs: OutputCount,
    channel_mask: RawSrc,
    global_offset: GlobalOffset,
    handle: RawSrc,
    slot_offset: RawSrc,
    data: RawSrc,
) -> None:
    """Each lane writes a dword of `outputs` registers to row handle + offsets of the URB.

    Bit k of its channel mask lets register k through; without a mask all are written.
    """
    lanes = b.row_read(handle, 0, UD, b.width)
    start = urb.start_of(b, lanes, global_offset, b.row_read(slot_offset, 0, UD, b.width))
    dwords = [b.row_read(data, k * b.grf, UD, b.width) for k in range(outputs)]
    has_mask = channel_mask.root is not None
    channels = b.row_read(channel_mask, 0, UD, b.width) if has_mask else None
    urb.store(b, start, dwords, b.mask, channels)
