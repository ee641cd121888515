"""Motion estimation: read, checked and encoded, not run."""

from __future__ import annotations

from typing import Annotated

from eumu.errors import Unsupported
from eumu.isa.kinds import Meaning, RawDst, RawSrc, Scalar, Surface
from eumu.isa.kinds.media import SearchModes, SearchModesKind
from eumu.isa.limits import Limits, fields, since
from eumu.isa.spec import Fidelity
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import UB, UD, UW

REASON = "no public page says what the media hardware computes"
MEDIA = Fidelity("unsupported", REASON)

Modes = Annotated[SearchModes, SearchModesKind()]

SURFACES = Limits(slm=frozenset(), texels=True)
_INPUTS = dict.fromkeys(("uni", "ime", "sic", "fbr", "idm", "dst"), (UB,))
VME = fields(
    maps.DOCUMENTED, **_INPUTS, ref0=(UW,), ref1=(UW,), costs=(UW,),
    mode=(UD,), shape=(UD,), prediction=(UD,),
)  # fmt: skip


@opcode(
    0x54,
    "vme_ime{modes} {surface}  {uni} {ime} {ref0} {ref1} {costs} {dst}",
    page="VME_IME",
    types=VME,
    limits=SURFACES,
    front_end=maps.SAMPLER_READ,
    fidelity=MEDIA,
    layout="modes uni ime surface ref0 ref1 costs dst",
)
def vme_ime(
    b: Meaning,
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
    raise Unsupported(REASON)


@opcode(
    0x55,
    "vme_sic {surface}  {uni} {sic} {dst}",
    page="VME_SIC",
    types=VME,
    limits=SURFACES,
    front_end=maps.SAMPLER_READ,
    fidelity=MEDIA,
    layout="uni sic surface dst",
)
def vme_sic(b: Meaning, surface: Surface, uni: RawSrc, sic: RawSrc, dst: RawDst) -> None:
    """Costs of skipping a block, and of predicting it from its neighbours."""
    raise Unsupported(REASON)


@opcode(
    0x56,
    "vme_fbr ( {mode}, {shape}, {prediction}) {surface}  {uni} {fbr} {dst}",
    page="VME_FBR",
    types=VME,
    limits=SURFACES,
    front_end=maps.SAMPLER_READ,
    fidelity=MEDIA,
    layout="uni fbr surface mode shape prediction dst",
)
def vme_fbr(
    b: Meaning,
    mode: Scalar,
    shape: Scalar,
    prediction: Scalar,
    surface: Surface,
    uni: RawSrc,
    fbr: RawSrc,
    dst: RawDst,
) -> None:
    """Motion vectors in parts of pixels, in both directions."""
    raise Unsupported(REASON)


@opcode(
    0x57,
    "vme_idm {surface}  {uni} {idm} {dst}",
    page="VME_IDM",
    types=VME,
    platforms=since("skl"),
    limits=SURFACES,
    fidelity=MEDIA,
    layout="uni idm surface dst",
)
def vme_idm(b: Meaning, surface: Surface, uni: RawSrc, idm: RawSrc, dst: RawDst) -> None:
    """How much each place around a block differs from it."""
    raise Unsupported(REASON)
