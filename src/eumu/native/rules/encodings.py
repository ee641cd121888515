"""Gen9 rules that stand outside the section on regions: operands, immediates, messages."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.isa.gen9.operands import PayloadOperand, Pointer, Register
from eumu.isa.gen9.registers import NULL
from eumu.isa.gen9.traits import Trait
from eumu.isa.messages.descriptor import describe
from eumu.native.rules.rule import Finding, rule
from eumu.native.rules.subject import Subject
from eumu.types import VF, Kind

_REGISTERS = 128
_EOT_FIRST = 112
_URB = 6  # the shared function
_HEADER = 19  # the bit of a descriptor


@rule("G.null-source", "a source is not null")
def null_source(s: Subject) -> Iterator[Finding]:
    if s.is_computing:
        for v in s.sources:
            if v.is_null:
                yield Finding(v.name, "null; must be a register or an immediate")


@rule("G.second-arf", "src1 is no architecture register")
def second_arf(s: Subject) -> Iterator[Finding]:
    if s.is_computing:
        for v in s.sources[1:]:
            if v.is_arf and not v.is_null:
                yield Finding(v.name, "an architecture register; must be a general one")


@rule("G.registers", "general registers end with r127")
def registers(s: Subject) -> Iterator[Finding]:
    for v in (*([s.dst] if s.dst else []), *s.registers_of_sources):
        if v.register is None or v.is_arf:
            continue
        last = v.register.number + (v.registers(s.size) if v.vstride != 0 or v.hstride else 1) - 1
        if last >= _REGISTERS:
            yield Finding(v.name, f"r{last}; at most r{_REGISTERS - 1}")


@rule("G.channels", "channels end with the 32nd")
def channels(s: Subject) -> Iterator[Finding]:
    if s.exec is not None and s.exec.offset + s.exec.size > 32:
        allowed = 32 - s.exec.size
        yield Finding("exec", f"{s.exec.size} channels from {s.exec.offset} on; from {allowed} on")


@rule("G.vector-immediate", "a packed immediate: the destination is aligned and strided for it")
def vector_immediate(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    packed = [v for v in s.sources if v.type.kind is Kind.PACKED]
    if dst is None or not packed or not s.is_computing:
        return
    width = 4 if packed[0].type is VF else 2
    if dst.pointer is None and dst.byte % 16:
        yield Finding("dst", f"byte {dst.byte} under :{packed[0].type}; must be a multiple of 16")
    # The compiler also writes whole dwords: each takes the element that lies where it does.
    if dst.stride_bytes != width and not (s.observed and dst.stride_bytes == 4):
        message = f"stride of {dst.stride_bytes} bytes under :{packed[0].type}"
        yield Finding("dst", f"{message}; must be {width}")


@rule("G.align16-stride", "Align16: the destination has stride 1")
def align16_stride(s: Subject) -> Iterator[Finding]:
    if s.dst is not None and s.options.align16 and s.is_computing and s.dst.hstride not in (0, 1):
        yield Finding("dst", f"stride {s.dst.hstride}; must be 1")


@rule("G.align16-vstride", "Align16: a vertical stride is 0, 2 or 4")
def align16_vstride(s: Subject) -> Iterator[Finding]:
    if not s.options.align16 or not s.is_computing:
        return
    for v in s.registers_of_sources:
        if v.vstride not in (0, 2, 4):
            shown = "an address for every row" if v.vstride is None else f"{v.vstride}"
            yield Finding(v.name, f"vertical stride {shown}; 0, 2 or 4")


@rule("G.align16-qword", "Align16: at most 2 channels write 64 bits")
def align16_qword(s: Subject) -> Iterator[Finding]:
    if s.dst is None or not s.options.align16 or not s.is_computing:
        return
    if s.dst.type.size == 8 and s.size > 2:
        yield Finding("dst", f"execution size {s.size} with :{s.dst.type}; at most 2")


@rule("G.product-order", "a dword times a word: the dword is src0")
def product_order(s: Subject) -> Iterator[Finding]:
    if not s.has(Trait.MULTIPLIES_WORDS) or len(s.sources) != 2:
        return
    first, second = s.sources
    if first.type.is_int and second.type.is_int and first.type.size < 4 <= second.type.size:
        yield Finding("src0", f":{first.type} times :{second.type}; :{second.type} must be src0")


def _payload(s: Subject, name: str) -> PayloadOperand | None:
    operand = s.instruction.operand(name)
    return operand if isinstance(operand, PayloadOperand) else None


def _general(payload: PayloadOperand | None) -> int | None:
    """The number of a payload's first general register."""
    if payload is None or not isinstance(payload.place, Register) or payload.place.is_arf:
        return None
    return payload.place.number


def _lengths(s: Subject) -> tuple[int, int, int] | None:
    """Registers that are sent (first and second stretch) and that come back."""
    ex_desc, desc = s.instruction.operand("ex_desc"), s.instruction.operand("desc")
    if not isinstance(ex_desc, int) or not isinstance(desc, int):
        return None
    message = describe(ex_desc, desc)
    sent, back = message.get("message length") or 0, message.get("response length") or 0
    return sent, message.get("extended message length") or 0, back


@rule("G.send-direct", "a message is sent from a register directly")
def send_direct(s: Subject) -> Iterator[Finding]:
    for name in ("dst", "src0"):
        payload = _payload(s, name)
        if payload is not None and isinstance(payload.place, Pointer):
            yield Finding(name, "indirect; must be a register")


@rule("G.send-second", "the second stretch of a message is in general registers")
def send_second(s: Subject) -> Iterator[Finding]:
    payload = _payload(s, "src1")
    if payload is None or not isinstance(payload.place, Register):
        return
    if payload.place.is_arf and payload.place.number != NULL.number:
        yield Finding("src1", "an architecture register; must be a general one or null")


@rule("G.urb-header", "a message to the URB has a header")
def urb_header(s: Subject) -> Iterator[Finding]:
    ex_desc, desc = s.instruction.operand("ex_desc"), s.instruction.operand("desc")
    if not isinstance(ex_desc, int) or not isinstance(desc, int):
        return
    if ex_desc & 15 == _URB and not desc >> _HEADER & 1:
        yield Finding("desc", "no header for the URB; bit 19 must be set")


@rule("G.division-modifier", "a division of integers takes its operands as they are")
def division_modifier(s: Subject) -> Iterator[Finding]:
    if not s.has(Trait.DIVIDES):
        return
    for v in s.sources:
        if v.negate or v.absolute:
            yield Finding(v.name, "a modifier; must have none")


@rule("G.send-eot", "the last message of a thread is sent from r112 to r127")
def send_eot(s: Subject) -> Iterator[Finding]:
    if not s.options.eot:
        return
    for name in ("src0", "src1"):
        first = _general(_payload(s, name))
        if first is not None and first < _EOT_FIRST:
            yield Finding(name, f"r{first}; r{_EOT_FIRST} to r127")


@rule("G.send-registers", "messages and answers end with r127")
def send_registers(s: Subject) -> Iterator[Finding]:
    lengths = _lengths(s)
    if lengths is None:
        return
    for name, length in zip(("src0", "src1", "dst"), lengths, strict=True):
        first = _general(_payload(s, name))
        if first is not None and first + max(length, 1) > _REGISTERS:
            yield Finding(name, f"{length} registers from r{first} on; from r{128 - length} on")


@rule("G.send-r127", "an answer that takes r127 does not overlap the message")
def send_r127(s: Subject) -> Iterator[Finding]:
    lengths, dst, src0 = _lengths(s), _general(_payload(s, "dst")), _general(_payload(s, "src0"))
    if lengths is None or dst is None or src0 is None or not lengths[2]:
        return
    sent, _, back = lengths
    if dst + back > _REGISTERS - 1 and src0 + sent > dst:
        yield Finding("dst", f"r{dst} to r127 and the message from r{src0} on; must be apart")


@rule("G.send-split", "the two stretches of a message do not overlap")
def send_split(s: Subject) -> Iterator[Finding]:
    lengths, first, second = (
        _lengths(s),
        _general(_payload(s, "src0")),
        _general(_payload(s, "src1")),
    )
    if lengths is None or first is None or second is None:
        return
    if first < second + lengths[1] and second < first + lengths[0]:
        yield Finding("src1", f"from r{second} on, src0 from r{first} on; must be apart")
