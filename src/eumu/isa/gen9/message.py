"""Messages to shared functions."""

from __future__ import annotations

from typing import Annotated, Any

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa import messages
from eumu.isa.gen9.kinds import Exec
from eumu.isa.gen9.kinds.control import OptionsKind
from eumu.isa.gen9.kinds.message import (
    DescriptorKind,
    ExtendedDescriptorKind,
    PayloadDestinationKind,
    PayloadSourceKind,
    SecondPayloadKind,
)
from eumu.isa.gen9.machine import Machine
from eumu.isa.gen9.operands import AddressWord, Options, Payload, Register
from eumu.isa.gen9.registers import GRF_BYTES
from eumu.isa.gen9.registry import opcode
from eumu.isa.gen9.thread import GRF_COUNT
from eumu.isa.kinds import Rows
from eumu.types import UD

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


def _rows(b: Machine, operand: Payload, count: int) -> Rows:
    """`count` registers from an operand's on; none for null."""
    place = operand.place
    if not isinstance(place, Register):
        raise Unsupported("a message whose registers are found by an address")
    if not place.is_arf and place.number + count > GRF_COUNT:
        raise b.wrong("region", f"{count} registers from r{place.number} on; r127 is the last")
    return Rows(None if place.is_arf else b.file, place.number * GRF_BYTES, UD)


def _descriptor(b: Machine, operand: int | AddressWord) -> tuple[int, Value | None]:
    """A descriptor, and the binding-table index where code has put that into it.

    One in a0 must be what this block wrote there: a constant, or a constant and an index.
    """
    if not isinstance(operand, AddressWord):
        return operand, None
    a0 = Rows(b.function.roots.get("a0"), 0, UD)
    constant = messages.known_dword(b, a0, 4 * operand.element)
    if constant is not None:
        return constant, None
    parts = messages.known_sum(b, a0, 4 * operand.element)
    if parts is None or parts[0] & 0xFF:
        raise Unsupported("a message whose descriptor in a0 is no constant written just before")
    return parts


def _send(
    b: Machine,
    dst: Payload,
    src0: Payload,
    src1: Payload | None,
    ex_desc: int | AddressWord,
    desc: int | AddressWord,
    options: Options,
) -> None:
    ex_desc, _ = _descriptor(b, ex_desc)
    desc, surface = _descriptor(b, desc)
    sent, more, taken = desc >> 25 & 15, ex_desc >> 6 & 15, desc >> 20 & 31
    second = None if src1 is None else _rows(b, src1, more)
    bytes = sent * GRF_BYTES, more * GRF_BYTES
    payload = messages.Payload(_rows(b, src0, sent), bytes[0], second, bytes[1])
    messages.send(b, messages.Request(ex_desc, desc, payload, _rows(b, dst, taken), surface))
    if options.eot:
        b.end()


_ONE = "{exec.pred}%s {exec} {dst} {src0} {ex_desc} {desc} {options}"
_TWO = "{exec.pred}%s {exec} {dst} {src0} {src1} {ex_desc} {desc} {options}"


@opcode(0x31, _ONE % "send")
def send(
    b: Machine, exec: Exec, dst: Dst, src0: Src, ex_desc: ExDesc, desc: Desc, options: Opts
) -> None:
    """Send registers from src0 on to a shared function; dst takes the answer."""
    _send(b, dst, src0, None, ex_desc, desc, options)


@opcode(0x32, _ONE % "sendc")
def sendc(
    b: Machine, exec: Exec, dst: Dst, src0: Src, ex_desc: ExDesc, desc: Desc, options: Opts
) -> None:
    """As send, after all threads that this one depends on; those of a group depend on none."""
    _send(b, dst, src0, None, ex_desc, desc, options)


@opcode(0x33, _TWO % "sends")
def sends(
    b: Machine,
    exec: Exec,
    dst: SplitDst,
    src0: SplitSrc0,
    src1: SplitSrc1,
    ex_desc: SplitExDesc,
    desc: SplitDesc,
    options: Opts,
) -> None:
    """As send, with a second stretch of registers from src1 on."""
    _send(b, dst, src0, src1, ex_desc, desc, options)


@opcode(0x34, _TWO % "sendsc")
def sendsc(
    b: Machine,
    exec: Exec,
    dst: SplitDst,
    src0: SplitSrc0,
    src1: SplitSrc1,
    ex_desc: SplitExDesc,
    desc: SplitDesc,
    options: Opts,
) -> None:
    """As sends, after all threads that this one depends on; those of a group depend on none."""
    _send(b, dst, src0, src1, ex_desc, desc, options)
