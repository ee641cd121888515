"""Branches, calls and waiting.

Branch targets are distances from the branch itself, except those of jmpi.  The first label is the
JIP, where the thread goes if no channel is left here; the second is the UIP, where the channels
that branch go on.
"""

from __future__ import annotations

from typing import Annotated, Any

from eumu.errors import Unsupported
from eumu.ir.operations.ends import Trap
from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import DST, SRC0, SRC1
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds.control import BranchControlKind, ExecKind, OptionsKind
from eumu.isa.gen9.kinds.destination import LinkKind
from eumu.isa.gen9.kinds.source import SCALAR, ImplicitSourceKind
from eumu.isa.gen9.kinds.targets import (
    NotificationKind,
    SecondTargetKind,
    TargetKind,
    TargetOrSourceKind,
)
from eumu.isa.gen9.operands import (
    BranchTarget,
    Constant,
    Execution,
    InstructionOptions,
    NativeSource,
    Region,
    Register,
)
from eumu.isa.gen9.registers import IP
from eumu.isa.gen9.registry import opcode
from eumu.isa.messages import gateway
from eumu.types import BOOL, D

# Operands that the text does not show, as the assembler fills them in.
_D = bits.REGISTER_TYPES.index(D)
_NULL_DST = DST.hstride.put(1)
_IP_DST = DST.number.put(IP.number) | DST.hstride.put(1)
_SRC0_IMMEDIATE = SRC0.file.put(bits.IMMEDIATE) | SRC0.type.put(_D)
_SRC1_IMMEDIATE = SRC1.file.put(bits.IMMEDIATE) | SRC1.type.put(_D)
_PAIR = Region(2, 2, 1)
_NULL_PAIR = SRC0.vstride.put(2) | SRC0.width.put(1) | SRC0.hstride.put(1)

Hidden = Annotated[Execution, ExecKind(hidden=True)]
Branch = Annotated[bool, BranchControlKind()]
Opts = Annotated[InstructionOptions, OptionsKind(align16=True)]
Jip = Annotated[BranchTarget, TargetKind(bits.JIP, fixed=_NULL_DST | _SRC0_IMMEDIATE)]
OnlyJip = Annotated[BranchTarget, TargetKind(bits.JIP, fixed=_NULL_DST | _SRC1_IMMEDIATE)]
Uip = Annotated[BranchTarget, TargetKind(bits.UIP)]
DivergeTarget = Annotated[
    Any,
    TargetOrSourceKind(
        SRC0, SCALAR, fixed=_IP_DST | DST.type.put(_D), jump=SRC0.file.put(3) | SRC0.type.put(_D)
    ),
]
ConvergeTarget = Annotated[
    Any,
    TargetOrSourceKind(
        SRC0, _PAIR, fixed=_IP_DST | DST.type.put(_D), jump=SRC0.file.put(3) | SRC0.type.put(_D)
    ),
]
SecondUip = Annotated[Any, SecondTargetKind()]
JumpTarget = Annotated[
    Any,
    TargetOrSourceKind(
        SRC1,
        SCALAR,
        base="next",
        fixed=_IP_DST | SRC0.number.put(IP.number),
        jump=_SRC1_IMMEDIATE,
    ),
]
CallTarget = Annotated[
    Any, TargetOrSourceKind(SRC1, SCALAR, fixed=_NULL_PAIR, jump=_SRC1_IMMEDIATE)
]
AbsoluteTarget = Annotated[
    Any, TargetOrSourceKind(SRC1, SCALAR, base="start", fixed=_NULL_PAIR, jump=_SRC1_IMMEDIATE)
]
Link = Annotated[Any, LinkKind()]


class _ReturnKind(ImplicitSourceKind):
    """The body gets the operand itself."""

    def encode(self, operand: Any, site: Any) -> int:
        return _NULL_DST | super().encode(operand, site)

    def bind(self, operand: Any, builder: Gen9Builder) -> Any:
        return operand


ReturnAddress = Annotated[NativeSource, _ReturnKind(SRC0, _PAIR, D)]
Notification = Annotated[NativeSource | Constant, NotificationKind()]
_BARRIER = Register(True, 0x90)  # n0.0
WaitOpts = Annotated[InstructionOptions, OptionsKind("AccWrEn", align16=True)]


@opcode(0x20, "{exec.pred}jmpi {exec} {target} {options}", flow=True, page="Jump Indexed")
def jmpi(b: Gen9Builder, exec: Hidden, target: JumpTarget, options: Opts) -> None:
    """The thread goes on at target (a distance from the next instruction), all channels."""
    b.jump(target)


@opcode(0x21, "{exec.pred}brd {exec} {jip} {options}", flow=True, page="Branch Diverging")
def brd(b: Gen9Builder, jip: DivergeTarget, options: Opts) -> None:
    """Channels whose predicate holds wait at JIP; diverging."""
    b.branch(jip)


@opcode(0x22, "{exec.pred}if{branch} {exec} {jip} {uip} {options}", flow=True, page="If")
def if_(b: Gen9Builder, branch: Branch, jip: Jip, uip: Uip, options: Opts) -> None:
    """Channels whose predicate does not hold wait at JIP."""
    b.go(b.not_(b.lanes()), jip)


@opcode(0x23, "{exec.pred}brc {exec} {jip} {uip} {options}", flow=True, page="Branch Converging")
def brc(b: Gen9Builder, jip: ConvergeTarget, uip: SecondUip, options: Opts) -> None:
    """Channels whose predicate holds wait at UIP; converging."""
    b.branch(jip if uip is None else uip, 1)


@opcode(0x24, "{exec.pred}else{branch} {exec} {jip} {uip} {options}", flow=True, page="Else")
def else_(b: Gen9Builder, branch: Branch, jip: Jip, uip: Uip, options: Opts) -> None:
    """Channels that come from above wait at JIP (UIP with `.b`); those of the `if` go on."""
    b.go(b.const(BOOL, 1, b.width), uip if branch else jip)


@opcode(0x25, "{exec.pred}endif {exec} {jip} {options}", flow=True, page="End If")
def endif(b: Gen9Builder, jip: OnlyJip, options: Opts) -> None:
    """Channels that wait here go on."""


@opcode(0x27, "{exec.pred}while {exec} {jip} {options}", flow=True, page="While")
def while_(b: Gen9Builder, jip: OnlyJip, options: Opts) -> None:
    """Channels whose predicate holds go back to JIP, the others leave the loop."""
    b.go(b.lanes(), jip)


@opcode(0x28, "{exec.pred}break {exec} {jip} {uip} {options}", flow=True, page="Break")
def break_(b: Gen9Builder, jip: Jip, uip: Uip, options: Opts) -> None:
    """Channels whose predicate holds leave the loop: they wait at UIP."""
    b.go(b.lanes(), b.behind_loop(uip))


@opcode(0x29, "{exec.pred}cont {exec} {jip} {uip} {options}", flow=True, page="Continue")
def cont(b: Gen9Builder, jip: Jip, uip: Uip, options: Opts) -> None:
    """Channels whose predicate holds are done with this round: they wait at UIP, the `while`."""
    b.go(b.lanes(), uip)


@opcode(0x2A, "{exec.pred}halt {exec} {jip} {uip} {options}", flow=True, page="Halt")
def halt(b: Gen9Builder, jip: Jip, uip: Uip, options: Opts) -> None:
    """Channels whose predicate holds wait at UIP."""
    b.go(b.lanes(), uip)


@opcode(0x2B, "{exec.pred}calla {exec} {dst} {target} {options}", flow=True, page="Call Absolute")
def calla(b: Gen9Builder, dst: Link, target: AbsoluteTarget, options: Opts) -> None:
    """As call, to a distance from the start of the code."""
    b.enter(dst, target, 0)


@opcode(0x2C, "{exec.pred}call {exec} {dst} {target} {options}", flow=True, page="Call")
def call(b: Gen9Builder, dst: Link, target: CallTarget, options: Opts) -> None:
    """The thread goes on at target; dst takes the return address and the channels that call."""
    b.enter(dst, target, b.offset)


@opcode(0x2D, "{exec.pred}ret {exec} {src0} {options}", flow=True, page="Return")
def ret(b: Gen9Builder, src0: ReturnAddress, options: Opts) -> None:
    """Channels return to the address that a call put into src0."""
    b.leave(src0)


@opcode(0x2E, "{exec.pred}goto{branch} {exec} {jip} {uip} {options}", flow=True, page="Goto")
def goto(b: Gen9Builder, branch: Branch, jip: Jip, uip: Uip, options: Opts) -> None:
    """Channels whose predicate does not hold wait at UIP; with `.b` those whose predicate holds."""
    b.go(b.lanes() if branch else b.not_(b.lanes()), uip)


@opcode(0x2F, "{exec.pred}join {exec} {jip} {options}", flow=True, page="Join")
def join(b: Gen9Builder, jip: OnlyJip, options: Opts) -> None:
    """Channels that wait here go on."""


@opcode(0x30, "{exec.pred}wait {exec} {src0} {options}", page="Wait Notification")
def wait(b: Gen9Builder, exec: Hidden, src0: Notification, options: WaitOpts) -> None:
    """Wait until the notification count is not 0, then take 1 from it."""
    if isinstance(src0, Constant) or src0.place != _BARRIER:
        raise Unsupported("a wait for another notification than n0.0, by which barriers tell")
    gateway.wait(b)


@opcode(0x00, "illegal", page="Illegal")
def illegal(b: Gen9Builder) -> None:
    """The illegal-opcode exception; the compiler fills up its code with it."""
    b.terminate(Trap(reason="an illegal instruction"))


@opcode(0x7E, "nop", page="No Operation")
def nop(b: Gen9Builder) -> None:
    """Nothing."""
