"""Lints on names that nothing in the program defines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from eumu.errors import Severity
from eumu.isa.kinds.operands import General
from eumu.isa.kinds.variables import Declared
from eumu.program import Inst
from eumu.verify.dataflow import Facts
from eumu.verify.rules import Finding, On, rule

# Names of the compiler's own functions: what is left of them was not known to its library.
_BUILTIN: Final = re.compile(r"_*(?:Z\d+_*)?(?:__builtin_|__spirv_|spirv_|GenISA_|llvm\.)")

# Pages of the instructions that name a function.
_NAMING: Final = frozenset({"FADDR", "FCALL", "FCCALL"})


@rule(
    "unresolved-call",
    "The compiler accepts an unknown builtin; the call goes to address 0.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="FADDR",
    by=None,
)
def unresolved_call(facts: Facts) -> Iterator[Finding]:
    defined = {k.name for k in facts.subject.module.kernels}
    for index, inst in enumerate(facts.graph.instructions):
        name = _symbol(inst) if inst.opcode.page in _NAMING else ""
        if not name or name in defined:
            continue
        missing = name in facts.subject.undefined or _BUILTIN.match(name)
        if missing and _is_called(facts, index, inst):
            yield Finding(
                f"'{name}' is called and nothing defines it{_hint(name)}",
                span=inst.span,
            )


def _symbol(inst: Inst) -> str:
    symbol = inst.operand("symbol") or inst.operand("function")
    return symbol if isinstance(symbol, str) else ""


def _hint(name: str) -> str:
    return ": the compiler's library does not know this builtin" if _BUILTIN.match(name) else ""


def _is_called(facts: Facts, index: int, inst: Inst) -> bool:
    """Whether the address that `faddr` gives goes to a call; strings are addressed by it too."""
    if inst.opcode.flow:
        return True
    dst = inst.operand("dst")
    if not isinstance(dst, General):
        return False
    holders: set[Declared] = {dst.variable.origin()[0]}
    for later in facts.graph.instructions[index + 1 :]:
        source = later.operand("src0")
        if isinstance(source, General) and source.variable.origin()[0] in holders:
            target = later.operand("dst")
            if later.opcode.mnemonic == "mov" and isinstance(target, General):
                holders.add(target.variable.origin()[0])
        address = later.operand("address")
        if later.opcode.flow and isinstance(address, General):
            return address.variable.origin()[0] in holders
    return False
