"""Rule 7: instructions that mix F and HF."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.isa.gen9.traits import Trait
from eumu.native.rules.rule import Finding, rule
from eumu.native.rules.subject import Subject
from eumu.types import HF, F

_OWORD = 16


def _align16(s: Subject) -> bool:
    return s.is_mixed_float and s.is_align16


def _align1(s: Subject) -> bool:
    return s.is_mixed_float and not s.is_align16


@rule("7.1", "Align16: F and HF together are packed")
def packed(s: Subject) -> Iterator[Finding]:
    if not _align16(s) or s.is_ternary:
        return
    for v in s.registers_of_sources:
        # A stride of 0 under HF is rule 7.8.
        if v.vstride != 4 and not (v.vstride == 0 and v.type is HF):
            yield Finding(v.name, f"vertical stride {v.vstride}; must be 4")


@rule("7.2", "Align16: packed HF begins at an oword and stays in it")
def oword_16(s: Subject) -> Iterator[Finding]:
    if not _align16(s) or s.dst is None:
        return
    for v in (s.dst, *s.registers_of_sources):
        if v.type is HF and not v.is_scalar and v.byte % _OWORD:
            yield Finding(v.name, f"byte {v.byte}; must be a multiple of {_OWORD}")


@rule("7.4", "no SIMD16 with a packed HF destination")
def packed_simd16(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or not s.is_mixed_float or s.has(Trait.MATH):
        return
    if dst.type is HF and s.size > 8 and (s.is_align16 or dst.hstride == 1):
        yield Finding("dst", f"execution size {s.size}; at most 8, or a stride of 2")


@rule("7.5", "Align16: no accumulator is read")
def no_accumulator(s: Subject) -> Iterator[Finding]:
    if _align16(s) and s.reads_accumulator:
        yield Finding("src0", "reads an accumulator; must not where F and HF mix in Align16")


@rule("7.6", "an accumulator that goes to packed HF has offset 0")
def accumulator_offset(s: Subject) -> Iterator[Finding]:
    if s.dst is None or s.dst.type is not HF or s.dst.hstride != 1 or s.is_align16:
        return
    for v in s.sources:
        if v.accumulator is not None and v.type in (F, HF) and v.byte:
            yield Finding(v.name, f"byte {v.byte} of the accumulator; must be 0")


@rule("7.7", "an accumulator under an HF destination: its stride is 2")
def accumulator_stride(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if not _align1(s) or dst is None or dst.type is not HF or not s.reads_accumulator:
        return
    explicit = any(v.accumulator is not None for v in s.sources)
    # The manual's own example packs an accumulator that a mov names.
    if dst.hstride != 2 and not (explicit and s.has(Trait.COPIES)):
        yield Finding("dst", f"stride {dst.hstride}; must be 2")


@rule("7.8", "Align16: the vertical stride of HF is not 0")
def half_vstride(s: Subject) -> Iterator[Finding]:
    if not _align16(s) or s.is_ternary:
        return
    for v in s.registers_of_sources:
        if v.vstride == 0 and v.type is HF:
            yield Finding(v.name, "vertical stride 0; must be 4")


@rule("7.9a", "Align16 math with F and HF is packed")
def math_packed(s: Subject) -> Iterator[Finding]:
    if not _align16(s) or not s.has(Trait.MATH):
        return
    for v in s.registers_of_sources:
        if v.vstride != 4:
            yield Finding(v.name, f"vertical stride {v.vstride}; must be 4")


@rule("7.9b", "Align1 math with F and HF: HF sources are strided")
def math_strided(s: Subject) -> Iterator[Finding]:
    if not _align1(s) or not s.has(Trait.MATH):
        return
    for v in s.registers_of_sources:
        if v.type is HF and v.hstride <= 1 and not (v.is_scalar or s.size == 1):
            yield Finding(v.name, f"horizontal stride {v.hstride}; must be 2 or 4")


@rule("7.10", "Align1: packed HF begins at an oword and stays in it")
def oword_1(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if not _align1(s) or dst is None or dst.type is not HF or dst.hstride != 1 or s.size == 1:
        return
    if dst.pointer is None and dst.byte % _OWORD:
        yield Finding("dst", f"byte {dst.byte}; must be a multiple of {_OWORD}")
    if s.size > 8:
        yield Finding("dst", f"execution size {s.size} crosses an oword; at most 8")


@rule("G.mixed-simd", "F and HF with an F destination: at most 8 channels")
def mixed_size(s: Subject) -> Iterator[Finding]:
    if s.is_mixed_float and s.dst is not None and s.dst.type is F and s.size > 8:
        yield Finding("dst", f"execution size {s.size}; at most 8")


@rule("G.mixed-indirect", "F and HF: no indirect sources")
def mixed_indirect(s: Subject) -> Iterator[Finding]:
    if s.is_mixed_float:
        for v in s.sources:
            if v.pointer is not None:
                yield Finding(v.name, "indirect; must be a register")
