"""What rules are given: a kernel with its device, and one instruction of it."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from eumu.isa.kinds.kind import Kind
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.kinds.variables import PredicateVariable, Variable
from eumu.isa.spec import Opcode
from eumu.platforms import Platform
from eumu.program import Inst, Kernel, LabelMark, Module
from eumu.program.header_copies import header_copies
from eumu.program.predicates import unwritten
from eumu.records import dataclass

# Predefined variables that grow with the register file.
_GROWING = frozenset({"%r0", "%arg", "%retval"})


@dataclass(slots=True)
class Subject:
    """A kernel on a platform; `parity` asks for the rules of Intel's front end.

    `labels` are by name, with the number of the subroutine that each stands in (0 is the kernel);
    `simd` is the declared SIMD size, 0 if there is none.  `undefined` are names that are known to
    be defined nowhere in the program.  `extents` has what the regions' rules have found out.
    `copies` are those of the header that are larger than their variables; `unwritten` are
    conditions that nothing writes.
    """

    module: Module
    kernel: Kernel
    platform: Platform
    parity: bool
    grf: int = 0
    simd: int = 0
    undefined: frozenset[str] = frozenset()
    labels: dict[str, tuple[LabelMark, int]] = field(default_factory=dict)
    extents: dict[tuple[int, int, Kind], tuple[int, int]] = field(default_factory=dict)
    copies: dict[Variable, int] = field(default_factory=dict)
    unwritten: dict[PredicateVariable, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grf = self.platform.grf_bytes
        self.copies = {} if self.parity else header_copies(self.kernel, self.grf)
        self.unwritten = {} if self.parity else unwritten(self.kernel)
        declared = self.kernel.attribute("SimdSize")
        self.simd = declared if isinstance(declared, int) else 0
        part = 0
        for item in self.kernel.body:
            if isinstance(item, LabelMark):
                part += item.kind == "subroutine"
                self.labels.setdefault(item.name, (item, part))

    def size(self, variable: Variable) -> int:
        """Bytes of a variable; some predefined ones have as many registers on every platform."""
        if variable.predefined is not None and variable.name in _GROWING:
            return variable.size * (self.grf // 32)
        return self.copies.get(variable, variable.size)

    def alignment(self, variable: Variable) -> int:
        """Bytes that a variable without alias is aligned to, at least."""
        declared = _ALIGNMENTS.get(variable.align or "", 1) or self.grf
        if variable.align == "GRFx2":
            declared = 2 * self.grf
        return max(declared, self.natural_alignment(variable))

    def natural_alignment(self, variable: Variable) -> int:
        """What the size and the type of a variable ask for."""
        return self.grf if variable.size >= self.grf else max(2, variable.type.size)


# GRF is the platform's own, which 0 stands for.
_ALIGNMENTS = {
    "byte": 1, "word": 2, "dword": 4, "qword": 8, "oword": 16, "hword": 32,
    "wordx32": 64, "wordx64": 128, "GRF": 0,
}  # fmt: skip


class Use:
    """An instruction of a kernel; `part` is the number of its subroutine."""

    __slots__ = ("exec", "inst", "opcode", "part", "subject")

    def __init__(self, subject: Subject, inst: Inst, exec: ExecSize | None, part: int) -> None:
        self.subject, self.inst, self.exec, self.part = subject, inst, exec, part
        self.opcode: Opcode = inst.opcode

    def operand(self, name: str) -> Any:
        return self.inst.operand(name)

    @property
    def size(self) -> int:
        """The execution size, 1 where the instruction has none."""
        return self.exec.size if self.exec is not None else 1
