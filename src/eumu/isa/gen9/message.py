"""Messages to shared functions."""

from __future__ import annotations

from typing import Annotated, Any

from eumu.errors import Unsupported
from eumu.ir import Region, Value
from eumu.isa import messages
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds.control import OptionsKind
from eumu.isa.gen9.kinds.message import (
    DescriptorKind,
    ExtendedDescriptorKind,
    PayloadDestinationKind,
    PayloadSourceKind,
    SecondPayloadKind,
)
from eumu.isa.gen9.operands import (
    AddressWord,
    InstructionOptions,
    PayloadOperand,
    Pointer,
    Register,
)
from eumu.isa.gen9.registers import GRF_BYTES
from eumu.isa.gen9.registry import opcode
from eumu.isa.gen9.thread import GRF_COUNT
from eumu.isa.kinds import Rows
from eumu.records import dataclass
from eumu.types import BOOL, UD

Dst = Annotated[Any, PayloadDestinationKind(split=False)]
Src = Annotated[Any, PayloadSourceKind(split=False)]
ExDesc = Annotated[Any, ExtendedDescriptorKind(split=False)]
Desc = Annotated[Any, DescriptorKind(split=False)]
SplitDst = Annotated[Any, PayloadDestinationKind(split=True)]
SplitSrc0 = Annotated[Any, PayloadSourceKind(split=True)]
SplitSrc1 = Annotated[Any, SecondPayloadKind()]
SplitExDesc = Annotated[Any, ExtendedDescriptorKind(split=True)]
SplitDesc = Annotated[Any, DescriptorKind(split=True)]
Opts = Annotated[InstructionOptions, OptionsKind("NoSrcDepSet", message=True)]


_A0, _EOT = "a0", 1 << 5
# First bit and mask of a length: of the message and its answer in the descriptor, of the second
# stretch in the extended one.
_SENT, _ANSWERED, _MORE = (25, 15), (20, 31), (6, 15)


@dataclass(frozen=True, slots=True)
class _Registers:
    """Registers of a message.  Those at an address are in `rows` for the time of the message.

    `lanes` masks the dwords that there are, where that is known at run time only.
    """

    rows: Rows
    count: int
    pointer: Pointer | None = None
    lanes: Value | None = None

    def fetch(self, b: Gen9Builder) -> None:
        """Get those at an address."""
        if self.pointer is not None and self.count:
            x = b.read_registers(self.pointer, 8 * self.count, self.lanes)
            b.row_write(self.rows, 0, x, b.const(BOOL, 1, x.width))

    def put_back(self, b: Gen9Builder) -> None:
        """Put those at an address back."""
        if self.pointer is not None and self.count:
            x = b.row_read(self.rows, 0, UD, 8 * self.count)
            b.write_registers(self.pointer, x, self.lanes)


def _registers(
    b: Gen9Builder,
    what: str,
    operand: PayloadOperand | None,
    word: Value | int,
    length: tuple[int, int],
) -> _Registers:
    """The registers from an operand's on, as many as a descriptor says or may say."""
    place, (low, most) = None if operand is None else operand.place, length
    if place is None or (isinstance(place, Register) and place.is_arf):
        return _Registers(Rows(None, 0, UD), 0)
    bits = messages.known_bits(b, word)
    registers = bits.value >> low & most if bits.covers(most << low) else None
    if isinstance(place, Register):
        room = GRF_COUNT - place.number
        if room <= 0:
            raise b.wrong("region", f"there is no r{place.number}; r127 is the last")
        if registers is not None and registers > room:
            raise b.wrong(
                "region", f"{registers} registers from r{place.number} on; r127 is the last"
            )
        rows = Rows(b.file, place.number * GRF_BYTES, UD)
        return _Registers(rows, min(most, room) if registers is None else registers)
    count, lanes = most if registers is None else registers, None
    if registers is None and not isinstance(word, int):
        said = b.and_(b.shr(b.convert(word, UD), b.const(UD, low)), b.const(UD, most))
        dwords = b.splat(b.shl(said, b.const(UD, 3)), 8 * count)
        lanes = b.cmp("lt", b.iota(UD, 8 * count), dwords)
    root = b.wide_root(f"message.{what}", most * GRF_BYTES)
    return _Registers(Rows(root, 0, UD), count, place, lanes)


def _word(b: Gen9Builder, operand: int | AddressWord) -> Value | int:
    """A descriptor."""
    if not isinstance(operand, AddressWord):
        return operand
    root = b.wide_root(_A0, GRF_BYTES)
    return b.read(root, Region.scalar(4 * operand.element), UD, 1)


@dataclass(frozen=True, slots=True)
class _Operands:
    dst: PayloadOperand
    src0: PayloadOperand
    src1: PayloadOperand | None

    @property
    def is_indirect(self) -> bool:
        return isinstance(self.dst.place, Pointer) or isinstance(self.src0.place, Pointer)

    def registers(
        self, b: Gen9Builder, ex_desc: Value | int, desc: Value | int
    ) -> tuple[_Registers, _Registers, _Registers]:
        """Those of both stretches and of the answer; there is something to be sent."""
        first = _registers(b, "src0", self.src0, desc, _SENT)
        second = _registers(b, "src1", self.src1, ex_desc, _MORE)
        answer = _registers(b, "dst", self.dst, desc, _ANSWERED)
        if not first.count:
            raise Unsupported("a message of no registers")
        first.fetch(b)
        answer.fetch(b)
        return first, second, answer


def _send(
    b: Gen9Builder,
    dst: PayloadOperand,
    src0: PayloadOperand,
    src1: PayloadOperand | None,
    ex_desc: int | AddressWord,
    desc: int | AddressWord,
    options: InstructionOptions,
) -> None:
    ex, plain = _word(b, ex_desc), _word(b, desc)
    operands, descriptors = _Operands(dst, src0, src1), messages.resolve(b, ex, plain)
    if descriptors is None or (descriptors.sure is not None and operands.is_indirect):
        _compose(b, ex, plain, operands, ends=options.eot)
    elif descriptors.sure is None:
        _known(b, descriptors, operands)
    else:
        mask = b.mask
        b.only_if(descriptors.sure)
        _known(b, descriptors, operands)
        _compose(b, ex, plain, operands, ends=options.eot, unless=descriptors.sure, mask=mask)
    if options.eot:
        b.end()


def _known(b: Gen9Builder, descriptors: messages.Descriptors, operands: _Operands) -> None:
    """A message of which at most a surface is known at run time only."""
    first, second, answer = operands.registers(b, descriptors.ex_desc, descriptors.desc)
    more = second.rows if second.count else None
    bytes = first.count * GRF_BYTES, second.count * GRF_BYTES
    payload = messages.MessagePayload(first.rows, bytes[0], more, bytes[1])
    request = messages.MessageRequest(
        descriptors.ex_desc, descriptors.desc, payload, answer.rows, descriptors.surface
    )
    messages.send(b, request)
    answer.put_back(b)


def _compose(
    b: Gen9Builder,
    ex_desc: Value | int,
    desc: Value | int,
    operands: _Operands,
    *,
    ends: bool,
    unless: Value | None = None,
    mask: Value | None = None,
) -> None:
    """A message of which more is known at run time only."""
    first, second, answer = operands.registers(b, ex_desc, desc)
    ex, plain = (b.const(UD, x) if isinstance(x, int) else x for x in (ex_desc, desc))
    if ends:
        ex = b.or_(b.convert(ex, UD), b.const(UD, _EOT))
    sent = [part for part in (first, second) if part.count]
    counts = tuple(part.count for part in sent)
    form = messages.Composed(
        b.platform.name,
        b.width,
        counts,
        answer.count,
        by_descriptor=True,
        may_be_stateless=b.general_state is None,
    )
    rows = tuple(part.rows for part in sent)
    messages.compose(b, form, ex, plain, rows, answer.rows, unless=unless, mask=mask)
    answer.put_back(b)


_ONE = "{exec.pred}%s {exec} {dst} {src0} {ex_desc} {desc} {options}"
_TWO = "{exec.pred}%s {exec} {dst} {src0} {src1} {ex_desc} {desc} {options}"


@opcode(0x31, _ONE % "send", page="Send Message")
def send(b: Gen9Builder, dst: Dst, src0: Src, ex_desc: ExDesc, desc: Desc, options: Opts) -> None:
    """Send registers from src0 on to a shared function; dst takes the answer."""
    _send(b, dst, src0, None, ex_desc, desc, options)


@opcode(0x32, _ONE % "sendc", page="Conditional Send Message")
def sendc(b: Gen9Builder, dst: Dst, src0: Src, ex_desc: ExDesc, desc: Desc, options: Opts) -> None:
    """As send, after all threads that this one depends on; those of a group depend on none."""
    _send(b, dst, src0, None, ex_desc, desc, options)


@opcode(0x33, _TWO % "sends", page="Split Send Message")
def sends(
    b: Gen9Builder,
    dst: SplitDst,
    src0: SplitSrc0,
    src1: SplitSrc1,
    ex_desc: SplitExDesc,
    desc: SplitDesc,
    options: Opts,
) -> None:
    """As send, with a second stretch of registers from src1 on."""
    _send(b, dst, src0, src1, ex_desc, desc, options)


@opcode(0x34, _TWO % "sendsc", page="Conditional Split Send Message")
def sendsc(
    b: Gen9Builder,
    dst: SplitDst,
    src0: SplitSrc0,
    src1: SplitSrc1,
    ex_desc: SplitExDesc,
    desc: SplitDesc,
    options: Opts,
) -> None:
    """As sends, after all threads that this one depends on; those of a group depend on none."""
    _send(b, dst, src0, src1, ex_desc, desc, options)
