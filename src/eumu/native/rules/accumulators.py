"""Rules on accumulators; `history` has those that depend on earlier instructions."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.errors import Severity
from eumu.isa.gen9.traits import Trait
from eumu.native.rules.rule import Finding, rule
from eumu.native.rules.subject import Subject, View
from eumu.types import HF, UD, D

_OWORD = 16
_STRAIGHT = 0b11_10_01_00
_FIRST_TWO = (0, 1)


def _general(s: Subject) -> Iterator[View]:
    """Operands that are acc0 or acc1."""
    if s.is_computing and s.dst is not None:
        yield from (v for v in (s.dst, *s.sources) if v.accumulator in _FIRST_TWO)


@rule("A1", "an accumulator begins at its lower or upper half")
def halves(s: Subject) -> Iterator[Finding]:
    for v in _general(s):
        # Strided words and HF may begin at the upper one of a channel (A10).
        if v.byte % _OWORD and not (v.type.size == 2 and v.byte % _OWORD == 2):
            yield Finding(v.name, f"byte {v.byte} of an accumulator; 0 or {_OWORD}")


@rule("A6", "source and destination are the same accumulator")
def same_accumulator(s: Subject) -> Iterator[Finding]:
    if s.dst is None or s.dst.accumulator is None or not s.is_computing:
        return
    for v in s.sources:
        if v.accumulator is not None and v.accumulator != s.dst.accumulator:
            yield Finding(v.name, f"acc{v.accumulator}; must be acc{s.dst.accumulator}, as dst")


@rule("A7", "16 channels of floats: an accumulator is src0 only")
def first_source(s: Subject) -> Iterator[Finding]:
    if s.size != 16 or not s.is_computing:
        return
    for v in s.sources[1:]:
        if v.accumulator is not None and v.type.is_float:
            yield Finding(v.name, f"acc{v.accumulator}; an accumulator must be src0")


@rule("A8", "no swizzle with an accumulator as source")
def no_swizzle(s: Subject) -> Iterator[Finding]:
    if not s.reads_accumulator or not s.is_computing:
        return
    for v in s.sources:
        if v.swizzle not in (None, _STRAIGHT):
            yield Finding(v.name, "a swizzle; must be .xyzw")


@rule("A10", "words are not written to odd words of an accumulator")
def odd_words(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or dst.accumulator not in _FIRST_TWO or not s.is_computing:
        return
    if dst.type.is_int and dst.type.size == 2 and dst.hstride == 2 and dst.byte // 2 % 2:
        yield Finding("dst", f"word {dst.byte // 2} with stride 2; must be even")


@rule("A11", "integers of 32 bits have acc0 only, 8 channels of it")
def dwords(s: Subject) -> Iterator[Finding]:
    for v in _general(s):
        if v.type not in (UD, D):
            continue
        if v.accumulator == 1:
            yield Finding(v.name, f"acc1 with :{v.type}; must be acc0")
        elif s.size > 8 and not v.is_scalar:
            yield Finding(v.name, f"execution size {s.size} with :{v.type}; at most 8")


@rule("A12", "an accumulator that is read has the region of the destination")
def same_region(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_align16 or not s.is_computing or s.size == 1 or dst.pointer is not None:
        return
    for v in s.sources:
        if v.accumulator not in _FIRST_TWO or HF in (v.type, dst.type) or v.is_scalar:
            continue
        if v.stride_bytes != dst.stride_bytes:
            message = f"stride of {v.stride_bytes} bytes, dst {dst.stride_bytes}"
            yield Finding(v.name, f"{message}; must be the same")


@rule("A13", "no negated :ud in a product of dwords", severity=Severity.WARNING)
def negated_factor(s: Subject) -> Iterator[Finding]:
    if not s.is_dword_product:
        return
    for v in s.sources[-2:]:
        if v.negate and v.type is UD:
            yield Finding(v.name, "a negated :ud has 33 bits; must be :d or without '-'")


@rule("A15", "no accumulator holds bytes or 64-bit integers")
def precision(s: Subject) -> Iterator[Finding]:
    for v in _general(s):
        if v.type.is_int and v.type.size in (1, 8):
            yield Finding(v.name, f":{v.type} in an accumulator; :w, :d, :hf, :f or :df")


@rule("A3", "acc1 holds no integer words")
def integer_words(s: Subject) -> Iterator[Finding]:
    for v in _general(s):
        if v.accumulator == 1 and v.type.is_int and v.type.size == 2:
            yield Finding(v.name, f"acc1 with :{v.type}; must be acc0")


@rule("A3.half", "acc1 with HF is restricted", severity=Severity.WARNING)
def half_in_acc1(s: Subject) -> Iterator[Finding]:
    for v in _general(s):
        if v.accumulator == 1 and v.type is HF:
            yield Finding(v.name, "acc1 with :hf; the manual allows and forbids it; use acc0")


@rule("A17", "acc2 to acc9 are named in a plain mov of dwords only")
def special(s: Subject) -> Iterator[Finding]:
    for v in s.special_accumulators:
        name = f"acc{v.accumulator}"
        if not s.has(Trait.COPIES):
            yield Finding(v.name, f"{name}; only a mov may name it")
        elif v.type not in (UD, D) or (s.dst is not None and s.dst.type not in (UD, D)):
            yield Finding(v.name, f"{name} with :{v.type}; must be :d or :ud")
        elif v.negate or v.absolute or s.saturate or s.instruction.operand("cond") is not None:
            yield Finding(v.name, f"{name} with a modifier; must have none")


@rule("A18", "the macros compute in :df, :f or :hf")
def macro_types(s: Subject) -> Iterator[Finding]:
    if not s.is_macro:
        return
    for number, v in enumerate(s.macro_sources):
        if not v.type.is_float:
            yield Finding(f"src{number}", f":{v.type} in a macro; must be :df, :f or :hf")
