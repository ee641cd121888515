"""Memory fences.  Both engines run memory operations in order, so a fence costs nothing here."""

from __future__ import annotations

from typing import Annotated

from eumu.isa.kinds import InstBuilder
from eumu.isa.kinds.control import ChoiceKind
from eumu.isa.kinds.raw import FenceMaskKind
from eumu.isa.visa.memory import LSC_PLATFORMS
from eumu.isa.visa.registry import opcode

FenceMask = Annotated[tuple[str, ...], FenceMaskKind()]
FenceSfid = Annotated[str, ChoiceKind("shared function", "ugm", "ugml", "tgm", "slm")]
FlushKind = ChoiceKind(
    "flush", "none", "evict", "invalidate", "discard", "clean", "flushl3", "type6"
)
Flush = Annotated[str, FlushKind]
ScopeKind = ChoiceKind("scope", "group", "local", "tile", "gpu", "gpus", "sysrel", "sysacq")
Scope = Annotated[str, ScopeKind]


@opcode(0x5C, "fence_global{flush}", sub=0x00, page="FENCE", layout="sub&a0|flush")
def fence_global(b: InstBuilder, flush: FenceMask) -> None:
    """Orders global memory; E waits for the commit, the others name caches to flush."""
    b.fence("global")


@opcode(0x5C, "fence_local{flush}", sub=0x20, page="FENCE", layout="sub&a0|flush")
def fence_local(b: InstBuilder, flush: FenceMask) -> None:
    """Orders shared local memory."""
    b.fence("local")


@opcode(
    0x8B,
    "lsc_fence.{sfid}.{flush}.{scope}",
    page="LSC_FENCE",
    platforms=LSC_PLATFORMS,
    layout="80 0000 sfid flush scope",
)
def lsc_fence(b: InstBuilder, sfid: FenceSfid, flush: Flush, scope: Scope) -> None:
    """Orders the memory of a shared function for observers within the scope."""
    b.fence("local" if sfid == "slm" else "global")


@opcode(0x5C, "fence_sw", sub=0x80, page="FENCE", layout="sub&a0")
def fence_sw(b: InstBuilder) -> None:
    """A fence for the compiler only."""
    b.fence("sw")
