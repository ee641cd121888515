"""Where the finalizer's code and the vISA text differ, or it cannot run, and whose fault that is.

A run file or an example that does not differ any more is an error, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from eumu.fuzz.known import (
    ALIGN16,
    FEW_HALVES,
    HALVES_AT_AN_ADDRESS,
    MATH,
    ONE_SELECTED,
    PACKED,
    PAIRWISE,
    ROUNDED_TWICE,
    SHIFTED,
    SIGNED,
)
from eumu.types import Kind
from oracle.pairwise import Case

_LINKED: Final = "each function is a file of code of its own, which a loader has to link"
# Run files: stem -> why what the finalizer makes is not what the text says.
RUN_FILES: Final = {
    "sad": "sad2add becomes sad2 and an add of all lanes, so that odd lanes change",
    "plane_modified": "16 coordinates are copied under the execution mask of 8 lanes",
    "switchjmp": "an index past the last label jumps behind the table, which has no check",
    "stack_calls": _LINKED,
    "loads": "legacy load and sample ask for four registers where the header leaves one channel",
    "analytics": "va_skl_plus copies 32 offsets under the execution mask of 8 lanes",
    "scratch": "scratch space becomes surfaces 251 and 255, which a driver has to bind",
}
# Run files that end their threads themselves: nothing reaches the end of the harness.
WITHOUT_END: Final = frozenset({"after_others", "end_of_thread"})
# Run files that the finalizer refuses as text and as an object file: its own words.
REFUSED: Final = {
    "math_macros": "syntax error, unexpected IDENT",
    "atomics": "syntax error, unexpected DOT, expecting ATOMIC_SUB_OP",
}

_OFFSETS: Final = "32 offsets are copied under the execution mask of 8 lanes"
_EIGHT: Final = "eight registers are asked for, of which the sampler fills four; all are written"
# The manual's examples: name -> why native code does something else, or cannot run.
MANUAL: Final = {
    "va.convolve": _EIGHT,
    "va_skl_plus.CONV_1D_HORIZONTAL": _EIGHT,
    "va_skl_plus.CONV_1D_VERTICAL": _EIGHT,
    "va_skl_plus.CONV_1PIXEL": _OFFSETS,
    "va_skl_plus.HDC_CONVOLVE_1P": _OFFSETS,
    "call": "the place that it calls is no subroutine there, and has no return",
    "fret": "it returns from the kernel, which nothing has called",
    "faddr": _LINKED,
    "svm_scatter": "64 bytes of each of 16 lanes are more registers than a message may have",
    "rt_write_3d": "places of pixels come from the payload of a pixel shader, which there is not",
}
# Those that the finalizer refuses, or of which it makes no end.
MANUAL_REFUSED: Final = {
    "fcall": "it ended by signal",
    "rt_read": "syntax error, unexpected IDENT",
    "invm": "syntax error, unexpected IDENT",
    "rsqtm": "syntax error, unexpected IDENT",
}
WITHOUT_AN_END: Final = frozenset({"svm_gather"})
# Those that end at what is not there, at both levels: a message whose descriptor is 0, a format of
# another surface, states of motion estimation, an address without a function, other threads.
MANUAL_FAULTS: Final = frozenset(
    {
        *("raw_send", "raw_sendc", "raw_sends", "raw_sendsc", "raw_sends_eot", "raw_sendsc_eot"),
        *("va.minmaxfilter", "vme_ime", "vme_sic", "vme_fbr", "ifcall", "sbarrier.wait"),
    }
)

SPREAD: Final = (
    "beside elements at an address the immediate vector stays, and is spread by a null destination"
    " of dwords"
)
# Instructions of which the finalizer's reader or its check refuses some cases.
PAIRWISE_REFUSED: Final = MATH | {"cmp", "div", "invm", "lrp", "mod", "rsqtm", "sad2add"}


def made_wrong(case: Case) -> str:
    """Why one case of an instruction can have no native code; empty where it has some."""
    first = case.sources[0]
    if case.opcode.mnemonic in MATH and first.type.kind is Kind.PACKED:
        return PACKED
    if case.opcode.mnemonic == "sad2add" and first.kind == "i":
        return "sad2 gets an immediate as its first source, which has no place in a word"
    if case.opcode.mnemonic == "cmp" and case.signature.dst.size == 8:
        return "its check refuses destinations of 64 bits"
    return ""


_SINGLES: Final = frozenset({"f", "hf", "df"})


def may_differ(case: Case) -> str:
    """Why one case may differ, by its form; empty where it must not."""
    return next((why for form, why in _FORMS if form(case)), "")


def _types(case: Case) -> list[str]:
    return [s.type.name for s in case.sources]


def _is(case: Case, *names: str) -> bool:
    return case.opcode.mnemonic in names


def _three_sources(case: Case) -> bool:
    return _is(case, "bfe", "bfi", "lrp") or (_is(case, "mad") and bool({*_types(case)} & _SINGLES))


def _combined(case: Case) -> bool:
    return case.guard.endswith((".any)", ".all)"))


def _constant(case: Case, *types: str) -> bool:
    """Whether the first source is a constant of one of the types."""
    return case.sources[0].kind == "i" and _types(case)[0] in types


def _halves_at_an_address(case: Case) -> bool:
    goes = case.place == "r" and case.signature.dst.name == "f" and "hf" in _types(case)
    return goes and case.mask.endswith("_NM") and not case.guard and not _is(case, "mov")


def _spread(case: Case) -> bool:
    return _is(case, "cmp") and case.sources[0].kind == "r" and _types(case)[1] in ("v", "uv")


# What cases look like that may differ -> why.
_FORMS: Final[tuple[tuple[Callable[[Case], bool], str], ...]] = (
    (lambda c: _three_sources(c) and _combined(c), ALIGN16),
    (lambda c: _is(c, "bfe") and len({*_types(c)}) > 1, PAIRWISE["bfe"]),
    (lambda c: _is(c, "addc", "subb") and bool(c.guard), PAIRWISE["addc"]),
    (lambda c: _is(c, "min", "max") and bool(c.guard), PAIRWISE["max"]),
    (lambda c: _is(c, "sad2add"), PAIRWISE["sad2add"]),
    (lambda c: _is(c, "madw"), PAIRWISE["madw"]),
    (lambda c: _is(c, "mulh") and bool({"v", "uv"} & {*_types(c)}), PAIRWISE["mulh"]),
    (lambda c: _is(c, "pow") and _types(c)[0] == "hf", PAIRWISE["pow"]),
    (
        lambda c: _is(c, "shr") and c.sources[0].kind == "i" and c.sources[0].type.is_signed,
        "a negative constant becomes one of words, which is read as unsigned",
    ),
    (
        lambda c: (
            _is(c, "shr")
            and c.saturate
            and (_types(c)[0], c.sources[0].modifier, c.sources[1].kind) == ("ud", "-", "i")
        ),
        "a shift by nothing becomes a move, for which a negated dword has a sign",
    ),
    (lambda c: _is(c, "shl") and _constant(c, "q", "uq"), SHIFTED),
    (lambda c: _is(c, "shl") and _constant(c, "uv"), SIGNED),
    (
        lambda c: _is(c, "min", "max") and c.sources[0].kind == "i" and _types(c)[0] in _SINGLES,
        "a constant goes second, and of zeros of unlike signs the first is taken",
    ),
    (
        lambda c: (
            _is(c, "cmp")
            and [s.modifier for s in c.sources] == ["-", "-"]
            and _types(c)[0] in _SINGLES
        ),
        "two signs are dropped and the condition turned, which holds for NaN then",
    ),
    (
        lambda c: (
            _is(c, *MATH)
            and c.size < 8
            and bool(c.guard)
            and "hf" in (c.signature.dst.name, *_types(c))
        ),
        FEW_HALVES,
    ),
    (lambda c: _is(c, "mad") and "vf" in _types(c), ROUNDED_TWICE),
    (_halves_at_an_address, HALVES_AT_AN_ADDRESS),
    (_spread, SPREAD),
    (
        lambda c: (
            _is(c, "div", "mod")
            and any(s.kind == "r" and "-" in s.modifier and s.type.is_int for s in c.sources)
        ),
        "it is copied with its minus, of which the type of the division does not know then",
    ),
    (
        lambda c: _is(c, "sel") and c.size == 1 and c.mask[:2] != "M1" and not _combined(c),
        ONE_SELECTED,
    ),
)
