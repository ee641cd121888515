"""Rule 8, indirect addressing, and the special restrictions of the section on regions."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.isa.gen9.registers import GRF_BYTES
from eumu.native.rules.rule import Finding, rule
from eumu.native.rules.subject import Subject, View


def _two_registers(s: Subject) -> bool:
    """Whether the destination needs two registers: the instruction runs in two halves."""
    dst = s.dst
    return dst is not None and s.size > 1 and dst.registers(s.size) > 1


@rule("8.2", "each register of the destination gets its data from one indirect register")
def one_indirect_register(s: Subject) -> Iterator[Finding]:
    if s.is_align16 or not s.is_computing or not _two_registers(s):
        return
    for v in s.sources:
        if v.pointer is None or v.vstride is None or v.is_scalar:
            continue
        span = v.last_byte(s.size // 2) + 1
        if span > GRF_BYTES:
            message = f"half of the channels span {span} bytes"
            yield Finding(v.name, f"{message}; at most {GRF_BYTES}, or a scalar")


@rule("8.3", "src1 has one address for all channels")
def second_source(s: Subject) -> Iterator[Finding]:
    for v in s.sources[1:]:
        if v.vstride is None:
            yield Finding(v.name, "an address for every row; must have a vertical stride")


@rule("8.4", "an address for every row is taken from a0")
def rows_are_indirect(s: Subject) -> Iterator[Finding]:
    for v in s.sources:
        if v.vstride is None and v.pointer is None and v.constant is None and s.is_computing:
            yield Finding(v.name, "an address for every row of a register; must be indirect")


@rule("8.6", "no address for every row with 32 channels")
def rows_of_32(s: Subject) -> Iterator[Finding]:
    for v in s.sources:
        if v.vstride is None and s.size == 32:
            yield Finding(v.name, "execution size 32; at most 16")


@rule("SR.1", "branches are Align1")
def branches(s: Subject) -> Iterator[Finding]:
    if s.instruction.opcode.flow and s.options.align16:
        yield Finding("options", "Align16; must be Align1")


@rule("SR.2", "Align16 conversion between sizes: one register each")
def align16_conversion(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or not s.is_align16:
        return
    for v in s.registers_of_sources:
        if v.type.size == dst.type.size or v.is_scalar:
            continue
        for one in (dst, v):
            if one.register is not None and one.registers(s.size) > 1:
                yield Finding(one.name, f"{one.registers(s.size)} registers; must be 1")


@rule("SR.3", "Align16: a register of the destination gets its data from one register")
def one_register(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or not s.is_align16 or s.size == 1:
        return
    for v in s.registers_of_sources:
        if v.register is None or v.is_scalar or _by_register(dst, v, s.size):
            continue
        message = f"byte {v.byte} scatters it over two registers"
        yield Finding(v.name, f"{message}; must be that of dst")


def _by_register(dst: View, source: View, channels: int) -> bool:
    home: dict[int, int] = {}
    size = source.type.size
    for at, start in zip(dst.offsets(channels), source.offsets(channels), strict=True):
        register = start // GRF_BYTES
        if (start + size - 1) // GRF_BYTES != register:
            return False
        if home.setdefault(at // GRF_BYTES, register) != register:
            return False
    return True


@rule("SR.5", "the second half does not read what the first half writes")
def halves(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    # The compiler writes such instructions.
    if s.observed or dst is None or dst.register is None or dst.is_arf or not _two_registers(s):
        return
    half = s.size // 2
    base = dst.register.number * GRF_BYTES
    written = {base + k for k in _bytes(dst, dst.offsets(s.size)[:half])}
    for v in s.registers_of_sources:
        if v.register is None or v.is_arf or v.is_scalar or v.vstride is None:
            continue
        base = v.register.number * GRF_BYTES
        second = {base + k for k in _bytes(v, v.offsets(s.size)[half:])}
        if written & second:
            first = min(written & second)
            place = f"r{first // GRF_BYTES}, byte {first % GRF_BYTES}"
            yield Finding(v.name, f"reads {place}, too late; must begin at dst or elsewhere")


def _bytes(view: View, offsets: list[int]) -> Iterator[int]:
    for offset in offsets:
        yield from range(offset, offset + view.type.size)


@rule("SR.6", "a second half with addresses for rows uses more than one of them")
def second_half_rows(s: Subject) -> Iterator[Finding]:
    if not _two_registers(s):
        return
    for v in s.sources:
        if v.vstride is None and v.pointer is not None and s.size // 2 <= v.width:
            allowed = s.size // 4
            yield Finding(v.name, f"width {v.width} of {s.size} channels; at most {allowed}")
