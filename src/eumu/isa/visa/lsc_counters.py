"""LSC messages on what belongs to a surface beside its bytes: append counters, compression.

A counter lives at the auxiliary address of a surface state: Intel's front end of these platforms
has the words for it and no grammar.  The compression control is described nowhere.
"""

from __future__ import annotations

from typing import Annotated

from eumu.errors import Unsupported
from eumu.isa.kinds import Meaning, Pred
from eumu.isa.kinds.control import ChoiceKind
from eumu.isa.kinds.lsc import (
    SFID_CODES,
    SFIDS,
    Addresses,
    Caching,
    CachingKind,
    DataRows,
    LscAddressKind,
    LscDataKind,
    LscExecKind,
)
from eumu.isa.kinds.lsc_typed import SurfaceModel, SurfaceModelKind
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.spec import Fidelity
from eumu.isa.visa.lsc import HEAD, NULL
from eumu.isa.visa.memory import LSC_PLATFORMS
from eumu.isa.visa.registry import opcode

COUNTERS = "append counters are newer than these platforms' front end; no surface here has one"
COMPRESSION = "no document says what it does; memory here is never compressed"

Exec = Annotated[ExecSize, LscExecKind()]
Sfid = Annotated[str, ChoiceKind("shared function", *SFIDS, numbers=SFID_CODES)]
AtomicCaching = Annotated[Caching, CachingKind("atomic")]
StoreCaching = Annotated[Caching, CachingKind("store")]
Data = Annotated[DataRows, LscDataKind()]
Address = Annotated[Addresses, LscAddressKind()]
State = Annotated[SurfaceModel, SurfaceModelKind()]


@opcode(
    0x89,
    "{pred}lsc_apndctr_atomic_add.{sfid}{caching} {exec}  {data}  {surface}  {src}",
    sub=0x28,
    page="LSC_UNTYPED",
    platforms=LSC_PLATFORMS,
    layout="none",
    fidelity=Fidelity("unsupported", COUNTERS),
)
def lsc_apndctr_atomic_add(
    b: Meaning,
    exec: Exec,
    pred: Pred,
    sfid: Sfid,
    caching: AtomicCaching,
    data: Data,
    surface: State,
    src: Data,
) -> None:
    """data[i] = the surface's counter, then counter += src[i]."""
    raise Unsupported(COUNTERS)


@opcode(
    0x89,
    "{pred}lsc_apndctr_atomic_sub.{sfid}{caching} {exec}  {data}  {surface}  {src}",
    sub=0x29,
    page="LSC_UNTYPED",
    platforms=LSC_PLATFORMS,
    layout="none",
    fidelity=Fidelity("unsupported", COUNTERS),
)
def lsc_apndctr_atomic_sub(
    b: Meaning,
    exec: Exec,
    pred: Pred,
    sfid: Sfid,
    caching: AtomicCaching,
    data: Data,
    surface: State,
    src: Data,
) -> None:
    """data[i] = the surface's counter, then counter -= src[i]."""
    raise Unsupported(COUNTERS)


@opcode(
    0x89,
    "{pred}lsc_ccs_update.{sfid}{caching} {exec}  {address}  {data}",
    sub=0x1D,
    page="LSC_UNTYPED",
    platforms=LSC_PLATFORMS,
    layout=f"{HEAD} {NULL} address.base data.register {NULL}",
    fidelity=Fidelity("unsupported", COMPRESSION),
)
def lsc_ccs_update(
    b: Meaning,
    exec: Exec,
    pred: Pred,
    sfid: Sfid,
    caching: StoreCaching,
    address: Address,
    data: Data,
) -> None:
    """Changes the compression state of memory."""
    raise Unsupported(COMPRESSION)
