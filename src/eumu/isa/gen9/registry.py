"""The registry of native Gen9 code, and the templates that most instructions share."""

from __future__ import annotations

from eumu.isa.gen9.kinds import Exec
from eumu.isa.spec import Registry

GEN9 = Registry(
    "gen9",
    "Skylake PRM, Volume 2a: Command Reference: Instructions:",
    implied={"exec": Exec},
)
opcode = GEN9.opcode


def one(mnemonic: str, *, cond: bool = True) -> str:
    """The text of an instruction with one source, with or without a condition modifier."""
    return _template(mnemonic, "{src0}", cond)


def two(mnemonic: str, *, cond: bool = True) -> str:
    """The text of an instruction with two sources."""
    return _template(mnemonic, "{src0} {src1}", cond)


def three(mnemonic: str, *, cond: bool = True) -> str:
    """The text of an instruction with three sources."""
    return _template(mnemonic, "{src0} {src1} {src2}", cond)


def _template(mnemonic: str, sources: str, cond: bool) -> str:
    modifier = "{cond} " if cond else ""
    return f"{{exec.pred}}{mnemonic} {{exec}} {modifier}{{dst}} {sources} {{options}}"
