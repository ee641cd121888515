"""Motion estimation: instructions that put together what a message carries."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, RawDst, RawSrc, Rows, Scalar, Surface
from eumu.isa.kinds.media import SearchModes, SearchModesKind
from eumu.isa.limits import Limits, fields, since
from eumu.isa.spec import Fidelity
from eumu.isa.visa import texels
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.messages import MOTION, MotionEstimation
from eumu.types import BOOL, UB, UD, UW

SEARCH = Fidelity("approximate", MOTION["ime"])
REFINEMENT = Fidelity("approximate", MOTION["fbr"])
CHECK = Fidelity("approximate", MOTION["sic"])
MESH = Fidelity(
    "unsupported", "no public description says where the points of the distortion mesh are"
)

Modes = Annotated[SearchModes, SearchModesKind()]

SURFACES = Limits(slm=frozenset(), texels=True)
_INPUTS = dict.fromkeys(("uni", "ime", "sic", "fbr", "idm", "dst"), (UB,))
VME = fields(
    maps.DOCUMENTED, **_INPUTS, ref0=(UW,), ref1=(UW,), costs=(UW,),
    mode=(UD,), shape=(UD,), prediction=(UD,),
)  # fmt: skip

_DWORDS, _UNIVERSAL = 8, 32  # of a register, of the universal input
_CENTERS, _PARTITION = 24, 21  # dwords of the cost centres, and of what is refined
_RESPONSE = 7  # registers of an answer without records


motion = partial(opcode, types=VME, limits=SURFACES, front_end=maps.SAMPLER_READ)


def _dwords(b: InstBuilder, rows: Rows, count: int) -> list[Value]:
    lanes = b.row_read(rows, 0, UD, count)
    return [b.slice(lanes, k, 1) for k in range(count)]


def _send(
    b: InstBuilder, surface: Surface, payload: Value, record: MotionEstimation, dst: Rows
) -> None:
    """Ask for one macroblock; the answer goes to `dst`."""
    index = texels.surface_index(b, surface)
    shape = [(UD, _DWORDS * record.response)]
    (answer,) = b.message(record, b.const(BOOL, 1), (index, payload), shape)
    b.row_write(dst, 0, answer, b.const(BOOL, 1, answer.width))


@motion(
    0x54,
    "vme_ime{modes} {surface}  {uni} {ime} {ref0} {ref1} {costs} {dst}",
    page="VME_IME",
    fidelity=SEARCH,
    layout="modes uni ime surface ref0 ref1 costs dst",
)
def vme_ime(
    b: InstBuilder,
    modes: Modes,
    surface: Surface,
    uni: RawSrc,
    ime: RawSrc,
    ref0: RawSrc,
    ref1: RawSrc,
    costs: RawSrc,
    dst: RawDst,
) -> None:
    """Motion vectors in whole pixels."""
    common = list(_dwords(b, uni, _UNIVERSAL))
    common[0], common[1] = b.row_read(ref0, 0, UD, 1), b.row_read(ref1, 0, UD, 1)
    control = b.const(UD, (0, 1, 3, 7)[modes.search] << 8)
    common[3] = b.or_(b.and_(common[3], b.const(UD, ~(7 << 8) & 0xFFFF_FFFF)), control)
    common[_CENTERS:] = _dwords(b, costs, _UNIVERSAL - _CENTERS)
    stream_in, stream_out = bool(modes.stream & 2), bool(modes.stream & 1)
    records = 2 if modes.search == 3 else 1
    more = 2 * _DWORDS * (1 + records * stream_in)
    payload = b.concat([*common, b.row_read(ime, 0, UD, more)])
    response = _RESPONSE + 2 * records * stream_out
    record = MotionEstimation(
        "ime", payload.width // _DWORDS, response, stream_in=stream_in, stream_out=stream_out
    )
    _send(b, surface, payload, record, dst)


@motion(
    0x55,
    "vme_sic {surface}  {uni} {sic} {dst}",
    page="VME_SIC",
    fidelity=CHECK,
    layout="uni sic surface dst",
)
def vme_sic(b: InstBuilder, surface: Surface, uni: RawSrc, sic: RawSrc, dst: RawDst) -> None:
    """Costs of skipping a block, and of predicting it from its neighbours."""
    payload = b.concat([*_dwords(b, uni, _UNIVERSAL), b.row_read(sic, 0, UD, _UNIVERSAL)])
    _send(b, surface, payload, MotionEstimation("sic", 8, _RESPONSE), dst)


@motion(
    0x56,
    "vme_fbr ( {mode}, {shape}, {prediction}) {surface}  {uni} {fbr} {dst}",
    page="VME_FBR",
    fidelity=REFINEMENT,
    layout="uni fbr surface mode shape prediction dst",
)
def vme_fbr(
    b: InstBuilder,
    mode: Scalar,
    shape: Scalar,
    prediction: Scalar,
    surface: Surface,
    uni: RawSrc,
    fbr: RawSrc,
    dst: RawDst,
) -> None:
    """Motion vectors in fractions of pixels, in both directions."""
    common = list(_dwords(b, uni, _UNIVERSAL))
    common[_PARTITION] = b.and_(common[_PARTITION], b.const(UD, 0xFF00_0000))
    for k, value in enumerate((mode, shape, prediction)):
        octet = b.and_(b.convert(value, UD), b.const(UD, 0xFF))
        common[_PARTITION] = b.or_(common[_PARTITION], b.shl(octet, b.const(UD, 8 * k)))
    payload = b.concat([*common, b.row_read(fbr, 0, UD, _UNIVERSAL)])
    _send(b, surface, payload, MotionEstimation("fbr", 8, _RESPONSE), dst)


@opcode(
    0x57,
    "vme_idm {surface}  {uni} {idm} {dst}",
    page="VME_IDM",
    types=VME,
    platforms=since("skl"),
    limits=SURFACES,
    fidelity=MESH,
    layout="uni idm surface dst",
)
def vme_idm(b: InstBuilder, surface: Surface, uni: RawSrc, idm: RawSrc, dst: RawDst) -> None:
    """How much each place around a block differs from it."""
    raise Unsupported(MESH.detail)
