"""Messages to shared functions."""

from __future__ import annotations

from typing import Annotated, Any

from eumu.isa.gen9.kinds import Exec
from eumu.isa.gen9.kinds.control import OptionsKind
from eumu.isa.gen9.kinds.message import (
    DescriptorKind,
    ExtendedDescriptorKind,
    PayloadDestinationKind,
    PayloadSourceKind,
    SecondPayloadKind,
)
from eumu.isa.gen9.operands import Options
from eumu.isa.gen9.registry import NOT_RUN, opcode
from eumu.isa.kinds import Meaning

Dst = Annotated[Any, PayloadDestinationKind(split=False)]
Src = Annotated[Any, PayloadSourceKind(split=False)]
ExDesc = Annotated[Any, ExtendedDescriptorKind(split=False)]
Desc = Annotated[Any, DescriptorKind(split=False)]
SplitDst = Annotated[Any, PayloadDestinationKind(split=True)]
SplitSrc0 = Annotated[Any, PayloadSourceKind(split=True)]
SplitSrc1 = Annotated[Any, SecondPayloadKind()]
SplitExDesc = Annotated[Any, ExtendedDescriptorKind(split=True)]
SplitDesc = Annotated[Any, DescriptorKind(split=True)]
Opts = Annotated[Options, OptionsKind("NoSrcDepSet", message=True)]

_ONE = "{exec.pred}%s {exec} {dst} {src0} {ex_desc} {desc} {options}"
_TWO = "{exec.pred}%s {exec} {dst} {src0} {src1} {ex_desc} {desc} {options}"


@opcode(0x31, _ONE % "send", fidelity=NOT_RUN)
def send(
    b: Meaning, exec: Exec, dst: Dst, src0: Src, ex_desc: ExDesc, desc: Desc, options: Opts
) -> None:
    """Send registers from src0 on to a shared function; dst takes the answer."""


@opcode(0x32, _ONE % "sendc", fidelity=NOT_RUN)
def sendc(
    b: Meaning, exec: Exec, dst: Dst, src0: Src, ex_desc: ExDesc, desc: Desc, options: Opts
) -> None:
    """As send, after all threads that this one depends on."""


@opcode(0x33, _TWO % "sends", fidelity=NOT_RUN)
def sends(
    b: Meaning,
    exec: Exec,
    dst: SplitDst,
    src0: SplitSrc0,
    src1: SplitSrc1,
    ex_desc: SplitExDesc,
    desc: SplitDesc,
    options: Opts,
) -> None:
    """As send, with a second stretch of registers from src1 on."""


@opcode(0x34, _TWO % "sendsc", fidelity=NOT_RUN)
def sendsc(
    b: Meaning,
    exec: Exec,
    dst: SplitDst,
    src0: SplitSrc0,
    src1: SplitSrc1,
    ex_desc: SplitExDesc,
    desc: SplitDesc,
    options: Opts,
) -> None:
    """As sends, after all threads that this one depends on."""
