"""Rules 4 to 6: byte and word destinations, 64 bits on the low-power parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eumu.isa.gen9.traits import Trait
from eumu.native.rules.regions import regions
from eumu.native.rules.rule import Finding, rule
from eumu.native.rules.subject import Subject, View
from eumu.types import HF

# The rules of group 6 are for the low-power parts.
_NOT_LOW_POWER = {"skl"}


@rule("4.1", "only a raw mov packs bytes")
def packed_bytes(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_ternary or s.size == 1 or not s.is_computing:
        return
    if dst.type.size == 1 and dst.hstride == 1 and not s.is_raw_move:
        allowed = s.exec_type.size
        yield Finding("dst", f"stride 1 of :{dst.type}; {allowed}, or a raw mov")


@rule("4.2", "bytes go to the lowest or second lowest byte of the execution channel")
def byte_position(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_align16 or s.size == 1 or dst.pointer is not None or not s.is_computing:
        return
    width = s.exec_type.size
    if dst.type.size == 1 and dst.hstride > 1 and dst.byte % width > 1 and not s.observed:
        places = f"{dst.byte - dst.byte % width} or {dst.byte - dst.byte % width + 1}"
        yield Finding("dst", f"byte {dst.byte} under :{s.exec_type}; {places}")


@rule("5", "words go to the lowest or second lowest word of the execution channel")
def word_position(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_align16 or s.size == 1 or dst.pointer is not None or not s.is_computing:
        return
    width = s.exec_type.size
    if dst.type.size == 2 and width > 2 and dst.byte % width > 2 and not s.is_mixed_float:
        first = dst.byte - dst.byte % width
        yield Finding("dst", f"byte {dst.byte} under :{s.exec_type}; {first} or {first + 2}")


@rule("G.odd-word", "words stay out of odd words, but for F that becomes HF")
def odd_word(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_align16 or s.size == 1 or dst.pointer is not None or not s.is_computing:
        return
    width = s.exec_type.size
    # Rule 5 allows it; a driver's validator does not, and the compiler takes a second move.
    if dst.type.size == 2 and width > 2 and dst.byte % width == 2 and not s.is_mixed_float:
        first = dst.byte - dst.byte % width
        yield Finding("dst", f"byte {dst.byte} under :{s.exec_type}; {first}")


def _wide(s: Subject) -> bool:
    return s.is_wide and s.is_computing and s.platform.name not in _NOT_LOW_POWER


def _vectors(s: Subject) -> Iterator[View]:
    if _wide(s):
        yield from (v for v in regions(s) if not v.is_scalar)


@rule("6.1.1", "64 bits: strides of sources and destination are the same whole qwords")
def qword_strides(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    for v in _vectors(s):
        assert dst is not None
        if v.stride_bytes % 8 or dst.stride_bytes % 8 or v.stride_bytes != dst.stride_bytes:
            message = f"stride of {v.stride_bytes} bytes, dst {dst.stride_bytes}"
            yield Finding(v.name, f"{message}; both the same multiple of 8")


@rule("6.1.2", "64 bits: the vertical stride is width times horizontal stride")
def qword_rows(s: Subject) -> Iterator[Finding]:
    for v in _vectors(s):
        if v.vstride != v.width * v.hstride:
            yield Finding(v.name, f"vertical stride {v.vstride}; must be {v.width * v.hstride}")


@rule("6.1.3", "64 bits: sources and destination have the same offset")
def qword_offsets(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    for v in _vectors(s):
        assert dst is not None
        both_direct = v.pointer is None and dst.pointer is None
        if both_direct and not dst.is_null and v.byte != dst.byte:
            yield Finding(v.name, f"byte {v.byte}; must be {dst.byte}, that of dst")


@rule("6.2", "64 bits: no indirect addressing")
def qword_indirect(s: Subject) -> Iterator[Finding]:
    if _wide(s) and s.dst is not None:
        for v in (s.dst, *s.sources):
            if v.pointer is not None:
                yield Finding(v.name, "indirect; must be a register")


@rule("6.3", "64 bits: no architecture registers")
def qword_architecture(s: Subject) -> Iterator[Finding]:
    if not _wide(s) or s.dst is None:
        return
    for v in (s.dst, *s.sources):
        if v.is_arf and not v.is_null:
            yield Finding(v.name, "an architecture register; must be a general one or null")
    if s.options.bit_28:
        yield Finding("options", "AccWrEn, an architecture register; must be left out")
    if s.has(Trait.READS_ACCUMULATOR) and s.has_qwords:
        yield Finding("dst", f":{s.dst.type} and an accumulator that is not named; at most :f")


@rule("6.3.macro", "64 bits: macros write no accumulator of their own accord")
def qword_macro(s: Subject) -> Iterator[Finding]:
    if _wide_macro(s) and s.options.bit_28:
        yield Finding("options", "AccWrEn, an architecture register; must be left out")


def _wide_macro(s: Subject) -> bool:
    return s.platform.name not in _NOT_LOW_POWER and any(v.type.size == 8 for v in s.macro_sources)


@rule("6.4", "64 bits: no dependency control")
def qword_dependency(s: Subject) -> Iterator[Finding]:
    if (_wide(s) or _wide_macro(s)) and (s.options.no_dd_clr or s.options.no_dd_chk):
        yield Finding("options", "NoDDClr or NoDDChk; must be left out")


@rule("SR.4", "between integers and HF the destination is aligned and strided by a dword")
def half_and_integer(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_align16 or not s.is_computing or s.size == 1:
        return
    to_half = dst.type is HF and any(v.is_integral for v in s.sources)
    from_half = dst.type.is_int and any(v.type is HF for v in s.sources)
    # The compiler compares :hf with a null destination of words.
    if not (to_half or from_half) or (dst.is_null and s.observed):
        return
    if dst.stride_bytes != 4:
        yield Finding("dst", f"stride of {dst.stride_bytes} bytes; must be 4")
    if dst.pointer is None and dst.byte % 4:
        yield Finding("dst", f"byte {dst.byte}; must be a multiple of 4")


@rule("G.half-stride", "F becomes HF in every other word, or packed")
def half_stride(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_align16 or not s.is_computing or s.size == 1 or dst.type is not HF:
        return
    types = {v.type for v in s.sources} - {HF}
    if not types or any(v.is_integral for v in s.sources):
        return
    # Packed HF has rules 7.4 and 7.10.
    if dst.hstride != 2 and not (s.is_mixed_float and dst.hstride == 1):
        yield Finding("dst", f"stride {dst.hstride} of :hf under :{s.exec_type}; must be 2")


@rule("G.qword-float", "integers of 64 bits and floats are not computed together")
def qword_and_float(s: Subject) -> Iterator[Finding]:
    if not s.is_computing or not any(v.type.is_float for v in s.sources):
        return
    for v in s.sources:
        if v.type.is_int and v.type.size == 8:
            yield Finding(v.name, f":{v.type} with :{s.exec_type}; must be :{s.exec_type}")


@rule("G.byte-qword", "no conversion between bytes and 64 bits")
def byte_and_qword(s: Subject) -> Iterator[Finding]:
    yield from _no_conversion(s, lambda v: v.type.size == 1)


@rule("G.half-qword", "no conversion between HF and 64 bits")
def half_and_qword(s: Subject) -> Iterator[Finding]:
    yield from _no_conversion(s, lambda v: v.type is HF)


def _no_conversion(s: Subject, narrow: Callable[[View], bool]) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or not s.is_computing:
        return
    for v in s.sources:
        one, other = (v, dst) if narrow(v) else (dst, v)
        if narrow(one) and other.type.size == 8:
            yield Finding(v.name, f":{v.type} and dst :{dst.type}; go through :d, :w or :f")
