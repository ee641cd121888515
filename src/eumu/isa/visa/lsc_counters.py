"""LSC messages on what belongs to a surface beside its bytes: append counters, compression.

A counter lies at the auxiliary address of a surface state whose auxiliary mode says so.  The page
leaves its size to the message; it is a dword here, as later releases of Intel's finalizer take
nothing else.  The front end of these platforms has the words and no grammar.
"""

from __future__ import annotations

from typing import Annotated

from eumu.errors import Unsupported
from eumu.isa.kinds import InstBuilder
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
)
from eumu.isa.kinds.lsc_typed import SurfaceModel, SurfaceModelKind
from eumu.isa.kinds.operands import DataShape
from eumu.isa.spec import Fidelity
from eumu.isa.visa.lsc import HEAD, IMPLIED, NULL, swap_data, untyped
from eumu.isa.visa.memory import FLAT, LSC_PLATFORMS, Atomic
from eumu.isa.visa.registry import opcode
from eumu.isa.visa.texels import model_index
from eumu.messages import CounterAddress
from eumu.types import UQ

COMPRESSION = "its text does not say whether it clears or uncompresses, nor pages or sectors"

Sfid = Annotated[str, ChoiceKind("shared function", *SFIDS, numbers=SFID_CODES)]
AtomicCaching = Annotated[Caching, CachingKind("atomic")]
StoreCaching = Annotated[Caching, CachingKind("store")]
Data = Annotated[DataRows, LscDataKind()]
Address = Annotated[Addresses, LscAddressKind()]
State = Annotated[SurfaceModel, SurfaceModelKind()]

DWORDS = DataShape("d32")


def _count(
    b: InstBuilder, operation: str, sfid: str, data: DataRows, state: SurfaceModel, src: DataRows
) -> None:
    """Lane after lane: what it finds in the counter, and its own number added or subtracted."""
    if sfid != "ugm":
        raise Unsupported(f"an append counter in .{sfid}; those of surfaces are in .ugm")
    if {data.shape, src.shape} != {DWORDS}:
        raise Unsupported(f"an append counter of {data.shape}, {src.shape}; it is a dword, d32")
    surface = model_index(b, state)
    record = CounterAddress()
    (address,) = b.message(record, b.mask, (surface,), [(UQ, 1)])
    places = b.splat(address, b.width)
    swap_data(b, Atomic(operation), FLAT, places, data, (src.rows, src.rows))


def _declare(sub: int, name: str, sign: str) -> None:
    @untyped(
        f"{{pred}}lsc_apndctr_atomic_{name}.{{sfid}}{{caching}} {{exec}}"
        "  {data}  {surface}  {src}",
        sub=sub,
        layout="none",
        doc=f"data[i] = the surface's append counter, then counter {sign}= src[i].",
    )
    def lsc_apndctr_atomic(
        b: InstBuilder, sfid: Sfid, caching: AtomicCaching, data: Data, surface: State, src: Data
    ) -> None:
        _count(b, name, sfid, data, surface, src)


_declare(0x28, "add", "+")
_declare(0x29, "sub", "-")


@opcode(
    0x89,
    "{pred}lsc_ccs_update.{sfid}{caching} {exec}  {address}  {data}",
    sub=0x1D,
    page="LSC_UNTYPED",
    platforms=LSC_PLATFORMS,
    layout=f"{HEAD} {NULL} address.base data.register {NULL}",
    fidelity=Fidelity("unsupported", COMPRESSION),
    implied=IMPLIED,
)
def lsc_ccs_update(
    b: InstBuilder, sfid: Sfid, caching: StoreCaching, address: Address, data: Data
) -> None:
    """Changes the compression state of memory."""
    raise Unsupported(COMPRESSION)
