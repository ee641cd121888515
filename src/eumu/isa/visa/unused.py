"""Operands that an instruction has a place for and no use."""

from __future__ import annotations

from eumu.isa.spec import Opcode
from eumu.isa.visa.lsc import ATOMICS as LSC_ATOMICS
from eumu.isa.visa.surface import ATOMICS


def unused_sources(opcode: Opcode, operation: str) -> tuple[str, ...]:
    """The sources of an atomic instruction that its operation, by its name, does not read.

    They must be %null.  `operation` does not count where the mnemonic says it.
    """
    if opcode.field("operation") and operation in ATOMICS:
        return ("src0", "src1")[len(ATOMICS[operation].sources) :]
    lsc = opcode.mnemonic.removeprefix("lsc_atomic_")
    if lsc in LSC_ATOMICS and opcode.field("src2"):
        return ("src1", "src2")[len(LSC_ATOMICS[lsc][1].sources) :]
    return ()
