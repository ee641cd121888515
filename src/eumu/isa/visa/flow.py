"""Control flow.

A lane waits at a block; the lowest waiting block runs next.  With an execution size of one, a
branch is *uniform*: it moves every active lane, as the compiler's own code expects even without
NoMask.
"""

from __future__ import annotations

from typing import Annotated

from eumu.ir import Value
from eumu.ir.operations.ends import Branch, Call, Diverge, Jump, Ret, Switch
from eumu.isa.kinds import BranchCond, InstBuilder, Label, Scalar
from eumu.isa.kinds.control import LabelsKind, VariableKind
from eumu.isa.kinds.variables import Declared
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import BOOL, UD

Labels = Annotated[tuple[int, ...], LabelsKind()]
AnyVariable = Annotated[Declared, VariableKind()]


def _lanes(b: InstBuilder, cond: Value | None) -> Value:
    """The lanes that a branch of more than one lane moves (execution mask not applied)."""
    return b.const(BOOL, 1, b.width) if cond is None else cond


def every_lane(b: InstBuilder, cond: Value | None) -> tuple[Value, int]:
    """Lanes and lane offset of a call or return; a single lane stands for all of them."""
    if b.width > 1:
        return _lanes(b, cond), b.exec.offset
    one = _lanes(b, cond)
    return b.splat(one, b.function.width), 0


@opcode(
    0x32,
    "{cond}jmp {exec} {target}",
    page="JMP",
    flow=True,
    limits=maps.SCALAR,
    front_end=maps.OF_ANY_SIZE,
)
def jmp(b: InstBuilder, cond: BranchCond, target: Label) -> None:
    """All active lanes go to target, if the predicate's first bit is set."""
    if cond is None:
        b.terminate(Jump((), (target,)))
    else:
        b.transfer(Branch((b.slice(cond, 0, 1),), (target,)))


@opcode(0x6C, "{cond}goto {exec} {target}", page="GOTO", flow=True)
def goto(b: InstBuilder, cond: BranchCond, target: Label) -> None:
    """Lanes where cond holds wait at target; the lowest waiting block runs next."""
    if b.width == 1:
        jmp(b, cond, target)
    elif cond is None and b.width >= b.function.width:
        b.terminate(Jump((), (target,)))
    else:
        b.transfer(Diverge((_lanes(b, cond),), (target,), offset=b.exec.offset))


@opcode(0x33, "{cond}call {exec} {target}", page="CALL", flow=True)
def call(b: InstBuilder, cond: BranchCond, target: Label) -> None:
    """The active lanes where cond holds run the subroutine; the others wait after the call."""
    lanes, offset = every_lane(b, cond)
    b.transfer(Call((lanes,), (target,), offset=offset))


@opcode(0x34, "{cond}ret {exec}", page="RET", flow=True)
def ret(b: InstBuilder, cond: BranchCond) -> None:
    """The active lanes where cond holds leave the subroutine, or end in the kernel itself."""
    lanes, offset = every_lane(b, cond)
    b.transfer(Ret((lanes,), offset=offset))


@opcode(
    0x69,
    "switchjmp {exec} {index} {targets}",
    page="SWITCHJMP",
    flow=True,
    layout="exec targets.count index targets.labels",
    platforms=maps.UNFUSED,
    limits=maps.SCALAR,
    front_end=maps.OF_ANY_SIZE,
)
def switchjmp(b: InstBuilder, index: Scalar, targets: Labels) -> None:
    """All active lanes go to label `index`, counted from 0; past the last, to the next line."""
    b.transfer(Switch((b.convert(index, UD),), targets))


@opcode(0x7B, "lifetime.start {variable}", sub=0, page="LIFETIME", layout="sub&01|variable")
def lifetime_start(b: InstBuilder, variable: AnyVariable) -> None:
    """A hint: the variable holds nothing yet."""


@opcode(0x7B, "lifetime.end {variable}", sub=1, page="LIFETIME", layout="sub&01|variable")
def lifetime_end(b: InstBuilder, variable: AnyVariable) -> None:
    """A hint: the variable is not read any more."""
