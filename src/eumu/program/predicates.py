"""Which bits of its predicates an instruction needs.

Source: vISA page "5 Operands"; of branches with execution size 1, what Intel's finalizer makes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from eumu.isa.kinds.operands import ExecSize, Predicate, PredicateOperand
from eumu.isa.kinds.variables import PredicateVariable
from eumu.isa.spec import Opcode
from eumu.program.module import Inst, Kernel


def bits_of(opcode: Opcode, exec: ExecSize) -> range:
    """The bits that stand for an instruction's lanes.

    A branch of execution size 1 has no lane of its own: whatever its mask control says, it looks at
    the first bit.
    """
    if opcode.flow and exec.size == 1:
        return range(1)
    return range(exec.offset, exec.offset + exec.size)


def unwritten(kernel: Kernel) -> dict[PredicateVariable, int]:
    """Predicates that no instruction but as a condition has: how many bits those need.

    Nothing has written any of their bits, so it does not matter how many are declared.  IGC 1.x
    declares 16 of an undefined value, where SIMD32 code looks at 32 in a loop that never runs.
    """
    reach: dict[PredicateVariable, int] = {}
    others: set[PredicateVariable] = set()
    for inst in kernel.instructions:
        exec = inst.operand("exec")
        for operand in inst.operands:
            if isinstance(operand, PredicateOperand):
                others.add(operand.variable)
            elif isinstance(operand, Predicate) and isinstance(exec, ExecSize):
                end = bits_of(inst.opcode, exec).stop
                reach[operand.variable] = max(reach.get(operand.variable, 0), end)
    return {variable: end for variable, end in reach.items() if variable not in others}


def missing(inst: Inst, unwritten: Container[PredicateVariable] = ()) -> Iterator[str]:
    """Predicates without bits for all lanes of an instruction, in words.

    Of those that nothing writes, none is missed.
    """
    exec, dst = inst.operand("exec"), inst.operand("dst")
    if not isinstance(exec, ExecSize):
        return
    needed = bits_of(inst.opcode, exec)
    for operand in inst.operands:
        as_number = isinstance(operand, PredicateOperand) and not isinstance(dst, PredicateOperand)
        if not isinstance(operand, Predicate | PredicateOperand) or as_number:
            continue
        if needed[-1] >= operand.variable.count and operand.variable not in unwritten:
            yield shortage(operand.variable.name, operand.variable.count, needed)


def shortage(name: str, count: int, needed: range) -> str:
    """What is wrong with a predicate of `count` bits."""
    first, last = needed[0], needed[-1]
    bits = f"bit {first}" if first == last else f"bits {first} to {last}"
    return f"'{name}' has {count} bits; the instruction needs {bits}"
