"""Which bits of its predicates an instruction needs.

Source: vISA page "5 Operands"; of branches with execution size 1, what Intel's finalizer makes.
"""

from __future__ import annotations

from collections.abc import Iterator

from eumu.isa.kinds.operands import ExecSize, Predicate, PredicateOperand
from eumu.isa.spec import Opcode
from eumu.program.module import Inst


def bits_of(opcode: Opcode, exec: ExecSize) -> range:
    """The bits that stand for an instruction's lanes.

    A branch of execution size 1 has no lane of its own: whatever its mask control says, it looks at
    the first bit.
    """
    if opcode.flow and exec.size == 1:
        return range(1)
    return range(exec.offset, exec.offset + exec.size)


def missing(inst: Inst) -> Iterator[str]:
    """Predicates without bits for all lanes of an instruction, in words."""
    exec, dst = inst.operand("exec"), inst.operand("dst")
    if not isinstance(exec, ExecSize):
        return
    needed = bits_of(inst.opcode, exec)
    for operand in inst.operands:
        as_number = isinstance(operand, PredicateOperand) and not isinstance(dst, PredicateOperand)
        if not isinstance(operand, Predicate | PredicateOperand) or as_number:
            continue
        if needed[-1] >= operand.variable.count:
            yield shortage(operand.variable.name, operand.variable.count, needed)


def shortage(name: str, count: int, needed: range) -> str:
    """What is wrong with a predicate of `count` bits."""
    first, last = needed[0], needed[-1]
    bits = f"bit {first}" if first == last else f"bits {first} to {last}"
    return f"'{name}' has {count} bits; the instruction needs {bits}"
