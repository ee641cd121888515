"""Copies of the header r0 that are declared too short.

IGC 1.x declares them with eight dwords where a register has sixteen: in functions, as of
`get_global_id`, on pvc.  Its `mov` copies the whole register.
"""

from __future__ import annotations

from eumu.isa.kinds.operands import ExecSize, General
from eumu.isa.kinds.variables import Variable
from eumu.program.module import Inst, Kernel


def header_copies(kernel: Kernel, grf: int) -> dict[Variable, int]:
    """Variables of less than a register into which a `mov` copies all of r0: the bytes it takes."""
    return {
        owner: offset + grf
        for inst in kernel.instructions
        if _copies_header(inst, grf)
        for owner, offset in [inst.operand("dst").variable.origin()]
        if owner.size < offset + grf
    }


def _copies_header(inst: Inst, grf: int) -> bool:
    exec, dst, source = (inst.operand(name) for name in ("exec", "dst", "src0"))
    if str(inst.opcode) != "mov" or not isinstance(exec, ExecSize):
        return False
    if not isinstance(dst, General) or not isinstance(source, General):
        return False
    header, first = source.variable.origin()
    if header.predefined is None or header.name != "%r0" or first or source.row or source.col:
        return False
    is_packed = (source.vstride, source.width, source.hstride) == (1, 1, 0) and dst.hstride == 1
    is_whole = exec.size * dst.type.size == grf and source.type.size == dst.type.size
    return is_packed and is_whole and (dst.row, dst.col) == (0, 0)
