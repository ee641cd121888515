"""Runs the meaning of one instruction to see which bytes of its operands it touches.

Every operand gets variables of its own, in whose middle it begins, so that what the body reads and
writes can be told apart and holds wherever the operand really lies.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from eumu.errors import EumuError
from eumu.ir import Block, Function, Op, Root, RootKind, Value
from eumu.ir.operations.state import OnFlag, OnRegion, OnRoot
from eumu.isa.kinds.builder import InstBuilder
from eumu.isa.kinds.operands import ExecSize, General, Raw
from eumu.isa.kinds.variables import (
    AddressVariable,
    Declared,
    PredicateVariable,
    Variable,
)
from eumu.isa.spec import Opcode
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.types import UD

_ROOM: Final = 1 << 16
# Where general operands begin in their root; masks count from 0 below.
MIDDLE: Final = _ROOM // 2

MEMORY: Final = frozenset(
    {"load", "store", "load_block", "store_block", "atomic", "fence", "message", "send"}
)
_KINDS: Final = {
    "G": RootKind.GRF,
    "P": RootKind.FLAG,
    "A": RootKind.ADDR,
    "T": RootKind.STATE,
    "S": RootKind.STATE,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a meaning touched, by the number of the variable among the operands.

    Masks are of bytes (predicates: bits), those of general variables from `MIDDLE` on.  `flow`
    names the terminator, `memory` the memory operations; a `pure` instruction does nothing but
    write variables of the program.  `indirect` is 'r', 'w' or both.
    """

    reads: tuple[tuple[int, int], ...] = ()
    writes: tuple[tuple[int, int], ...] = ()
    flow: str = ""
    memory: tuple[str, ...] = ()
    indirect: str = ""
    known: bool = True
    pure: bool = True


UNKNOWN: Final = Shape(known=False, pure=False)


class _Trial(InstBuilder):
    def __init__(self, platform: Platform) -> None:
        super().__init__(Function("trial", 32, platform.grf_bytes), platform)
        self.block = Block("trial")
        self.numbers: dict[Root, int] = {}
        self._known: dict[Declared, Root] = {}

    def root(self, variable: Declared) -> tuple[Root, int]:
        touched = self._known.get(variable)
        if touched is None:
            size = variable.count if variable.category == "P" else _ROOM
            touched = Root(variable.name, _KINDS[variable.category], size)
            self._known[variable] = touched
            if variable.name.isdigit():  # no variable of a program is called so
                self.numbers[touched] = int(variable.name)
        return touched, MIDDLE if touched.kind is RootKind.GRF else 0

    def address_of(self, variable: Declared, offset: int) -> Value:
        return self.const(UD, offset)

    def label(self, name: str) -> int:
        return 0

    def next_block(self) -> int:
        return 0

    def callee(self, name: str) -> int:
        return 0

    def function_address(self, name: str) -> int | None:
        return None


def run(opcode: Opcode, operands: tuple[Any, ...], platform: Platform) -> Shape:
    """The shape of an instruction, UNKNOWN where its meaning is not modelled."""
    trial = _Trial(platform)
    trial.begin(ExecSize(1))
    assert trial.block is not None
    count = [0]
    try:
        bound = []
        for field, operand in zip(opcode.fields, operands, strict=True):
            bound.append(field.kind.bind(_stand_in(operand, count), trial))
        opcode.build(trial, bound)
    except (EumuError, NotImplementedError):
        return UNKNOWN
    reads: dict[int, int] = {}
    writes: dict[int, int] = {}
    for op in trial.block.ops:
        _collect(op, trial.numbers, reads, writes)
    names = [op.name for op in trial.block.ops]
    memory = tuple(name for name in names if name in MEMORY)
    indirect = "r" * ("read_indirect" in names) + "w" * ("write_indirect" in names)
    end = trial.block.end
    return Shape(
        tuple(reads.items()),
        tuple(writes.items()),
        end.name if end is not None else "",
        memory,
        indirect,
        pure=not memory and "w" not in indirect and end is None,
    )


def _collect(
    op: Op, numbers: dict[Root, int], reads: dict[int, int], writes: dict[int, int]
) -> None:
    number = numbers.get(op.root) if isinstance(op, OnRoot) else None
    if number is None:
        return
    mask = 0
    if isinstance(op, OnFlag):
        for bit in op.bits:
            mask |= 1 << bit
    elif isinstance(op, OnRegion):
        for offset in set(op.offsets):
            mask |= ((1 << op.value.type.size) - 1) << offset
    else:
        return
    into = writes if op.name.startswith("write") else reads
    into[number] = into.get(number, 0) | mask


# ---- operands without their variables

Reference = tuple[Declared, int]


def describe(value: Any, references: list[Reference]) -> Any:
    """A hashable shape of an operand; `references` gets its variables and where it begins in them.

    Two operands of one shape touch the same bytes, counted from where they begin.
    """
    match value:
        case General():
            start = -1 - value.row  # resolved by the caller, who knows the size of a register
            references.append((value.variable, start))
            return ("g", value.type.name, value.vstride, value.width, value.hstride, value.col)
        case Raw():
            if value.variable is None:
                return None
            references.append((value.variable, value.offset))
            return value.variable.type.name
        case PredicateVariable() | AddressVariable() | Variable():
            references.append((value, 0))
            return (value.category, value.count)
        case Declared():
            return (value.category, value.name if value.predefined is not None else "")
        case tuple():
            return tuple(describe(item, references) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return (
            type(value).__name__,
            *(describe(getattr(value, item.name), references) for item in fields(value)),
        )
    return value


def _stand_in(value: Any, count: list[int]) -> Any:
    """The operand with numbered variables in it, at their beginnings; the order of `describe`."""
    match value:
        case General():
            variable = _numbered(value.variable, count)
            return replace(value, variable=variable, row=0)
        case Raw():
            return value if value.variable is None else Raw(_numbered(value.variable, count))
        case PredicateVariable():
            return PredicateVariable(_number(count), value.count)
        case AddressVariable():
            return AddressVariable(_number(count), value.count)
        case Variable():
            return _numbered(value, count)
        case Declared():
            return value
        case tuple():
            return tuple(_stand_in(item, count) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for item in fields(value):
            old = getattr(value, item.name)
            new = _stand_in(old, count)
            if new is not old:
                changed[item.name] = new
        return replace(value, **changed) if changed else value
    return value


def _number(count: list[int]) -> str:
    count[0] += 1
    return str(count[0] - 1)


def _numbered(variable: Variable, count: list[int]) -> Variable:
    return Variable(_number(count), variable.count, variable.type)
