"""Where the finalizer's code and the vISA text differ, or it cannot run, and whose fault that is.

Each row is looked at by a test: one that does not differ any more is an error, too.
"""

from __future__ import annotations

import re
from typing import Final

from eumu.types import Kind
from oracle.pairwise import Case

# Run files: stem -> why what the finalizer makes is not what the text says.
RUN_FILES: Final = {
    "sad": "sad2add becomes sad2 and an add of all lanes, so that odd lanes change",
    "plane_modified": "16 coordinates are copied under the execution mask of 8 lanes",
    "switchjmp": "an index past the last label jumps behind the table, which has no check",
    "stack_calls": "each function is a file of code of its own, which a loader has to link",
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

_PACKED: Final = "the immediate vector is moved to a register by a word without a type, code 15"
_ALIGN16: Final = "three sources have Align16 words, which lose .any and .all of predicates"
# Vector instructions (pairwise cases): name -> what the finalizer makes of the text.
PAIRWISE: Final = {
    "addc": "the carry is copied from the accumulator without the predicate",
    "subb": "the borrow is copied from the accumulator without the predicate",
    "sad2add": "it becomes sad2 and an add of all lanes, so that odd lanes change",
    "max": "the front end drops the predicate, for which the object file has no place",
    "min": "the front end drops the predicate, for which the object file has no place",
    "madw": "the second register of the result is not written; the carry is lost",
    "bfe": f"{_ALIGN16}; sources of mixed sign all get the first one's type",
    "bfi": _ALIGN16,
    "lrp": _ALIGN16,
    "mulh": "an immediate vector is multiplied as signed words in the first step of two",
    "pow": "a base of half precision makes the result one, which is rounded before it is widened",
}
# Instructions whose cases the finalizer's reader or its check refuses.
PAIRWISE_REFUSED: Final = frozenset({"div", "invm", "mod", "rsqtm"})
_MATH: Final = frozenset({"cos", "exp", "inv", "log", "rsqrt", "sin", "sqrt"})


def made_wrong(case: Case) -> str:
    """Why one case of an instruction can have no native code; empty where it has some."""
    first = case.sources[0]
    if case.opcode.mnemonic in _MATH and first.type.kind is Kind.PACKED:
        return _PACKED
    if case.opcode.mnemonic == "sad2add" and first.kind == "i":
        return "sad2 gets an immediate as its first source, which has no place in a word"
    if case.opcode.mnemonic == "cmp" and case.signature.dst.size == 8:
        return "its check refuses destinations of 64 bits"
    return ""


_SIGNED: Final = "an immediate vector of words without sign is read as words with sign"
_SINGLES: Final = frozenset({"f", "hf", "df"})


def may_differ(case: Case) -> str:
    """Why one case may differ, by its form; empty where it must not."""
    name, types = case.opcode.mnemonic, [s.type.name for s in case.sources]
    combined = case.guard.endswith((".any)", ".all)"))
    if name in ("bfe", "bfi", "lrp") or (name == "mad" and set(types) & _SINGLES):
        if combined:
            return _ALIGN16
        return PAIRWISE["bfe"] if name == "bfe" and len(set(types)) > 1 else ""
    if name in ("addc", "subb", "min", "max"):
        return PAIRWISE[name] if case.guard else ""
    if name in ("sad2add", "madw"):
        return PAIRWISE[name]
    if name == "mulh" and {"v", "uv"} & set(types):
        return PAIRWISE["mulh"]
    if name == "pow" and types[0] == "hf":
        return PAIRWISE["pow"]
    first = case.sources[0]
    if name == "shr" and first.kind == "i" and first.type.is_signed:
        return "a negative constant becomes one of words, which is read as unsigned"
    if name == "shl" and first.kind == "i" and types[0] in ("q", "uq"):
        return STATEMENTS[_SHIFTED]
    if name in ("shl", "min", "max") and first.kind == "i" and types[0] == "uv":
        return _SIGNED
    if name in ("min", "max") and first.kind == "i" and first.type.is_float:
        return "a constant goes second, and of zeros of unlike signs the first is taken"
    if name == "cmp" and [s.modifier for s in case.sources] == ["-", "-"] and types[0] in _SINGLES:
        return "two signs are dropped and the condition turned, which holds for NaN then"
    if (
        name in _MATH
        and case.size < 8
        and case.guard
        and {case.signature.dst.name, *types} & {"hf"}
    ):
        return _FEW_HALVES
    return ""


_PLACE: Final = (
    "messages to surfaces of less than eight lanes are made for eight, which M2, M4, M6 and M8"
    " do not suit: they become M1, and lose NoMask"
)
_COPIED: Final = (
    "constants and elements at addresses are copied under the execution mask, but lanes also use"
    " those of their neighbours"
)
_ROWS: Final = "the macros read whole registers: of a region of elements apart the first ones"
# A region whose elements do not follow each other, nor are all the same.
_APART: Final = r"\d?\(\d+,\d+\)<(?!1;1,0>|0;1,0>|(\d+);\1,1>)\d+;"
# Rows of four that repeat and cross a register.
_ACROSS: Final = r"\(\d+,([2-7]\)<0;4,2>|[5-7]\)<0;4,1>)"
_FEW_HALVES: Final = (
    "functions of less than eight halves are made in parts, whose function and lanes are what"
    " memory held: the code is another each time"
)
_FUNCTIONS: Final = "|".join(sorted(_MATH))
# Statements that random kernels leave out: what a line looks like -> why.
_GUARD: Final = r"(\(.*?\) )?"
_SHIFTED: Final = rf"{_GUARD}(asr|shl|shr)(\.sat)? \(.*?\) \S+ 0x[0-9a-f]+:u?q "
STATEMENTS: Final = {
    rf"{_GUARD}(div|mod|invm|rsqtm)[ .]": "its reader or its check refuses them",
    r"\(.*?\) (addc|subb) ": PAIRWISE["addc"],
    r"\(.*?\) (min|max)[ .]": PAIRWISE["max"],
    rf"{_GUARD}sad2add[ .]": PAIRWISE["sad2add"],
    rf"{_GUARD}madw[ .]": PAIRWISE["madw"],
    r"\(.*?\.(any|all)\) (bfe|bfi|lrp|mad)[ .]": _ALIGN16,
    rf"{_GUARD}bfe (?=.*\bU?D.*\b(D|UD).*)(?=.*(\bUD|:ud))(?=.*(\bD|:d\b))": PAIRWISE["bfe"],
    rf"{_GUARD}(min|max)[ .].*:uv\b": _SIGNED,
    rf"{_GUARD}(gather|scatter)(4?_scaled)?\.\w+ \(M[2468](_NM)?, [124]\)": _PLACE,
    rf"{_GUARD}dword_atomic\.\w+ \(M[2468](_NM)?, [124]\)": _PLACE,
    rf"{_GUARD}svm_atomic\.f(add|sub) ": "Gen9 has no such atomic operation",
    rf"{_GUARD}dword_atomic\.f(add|sub) ": "Gen9 has no such atomic operation",
    rf"{_GUARD}dp[234h](\.sat)? \(M\d, .*:(vf|f)\b": _COPIED,
    rf"{_GUARD}sad2[ .]": "it writes every other lane; the others are lost in a spilled result",
    rf"{_GUARD}(divm|sqrtm)(\.sat)? .*{_APART}": _ROWS,
    rf"{_GUARD}(inv|sqrt)(\.sat)? .*\bDF{_APART}": _ROWS,
    rf"{_GUARD}dp[234h](\.sat)? .*{_ACROSS}": (
        "a row that repeats and crosses a register is copied as one row that goes on"
    ),
    r".*\br\[A2\(.*\br\[A1\(": (
        "the variables A1 and A2 have 17 words, of 16 that there are: A1 overwrites A2"
    ),
    rf"{_GUARD}mov \(.*?\) U?B.* .*(\bDF\d|:df)": (
        "a double becomes a byte by way of a word, which it is not clamped to"
    ),
    rf"{_GUARD}cmp\.\w+ .*\bU?Q\d.*:uv\b": _SIGNED,
    _SHIFTED: (
        "a constant of 64 bits that fits into 32 becomes one, and counts lose their sixth bit"
    ),
    rf"{_GUARD}(sel|and|or|xor)(\.sat)? \(.*?\) (U?Q\d|r\[.*?:u?q ).*\b0x[0-9a-f]+:u?q\b": (
        "a constant of 64 bits that fits into 32 becomes one, and loses its sign or gets one"
    ),
    rf"{_GUARD}({_FUNCTIONS})(\.sat)? \(M\d(_NM)?, [124]\).*(\bHF|:hf)": _FEW_HALVES,
    rf"{_GUARD}shr .* 0x0:": "a shift by nothing becomes a move, which extends signs",
    r".*\(M1(_NM)?, 32\) (?P<dst>U?B\d)\(.*(?P=dst)\(": (
        "32 bytes become two times 16, and the first overwrite what the second read"
    ),
    rf"{_GUARD}(gather|scatter)(_scaled)?\.\w+ \(M1(_NM)?, 32\)": (
        "a message of 16 lanes is sent with an execution size of 32, which it has not"
    ),
    rf"{_GUARD}mulh .*:u?v\b": PAIRWISE["mulh"],
    rf"{_GUARD}(addc|subb) \(M\d, .*\(\d+,7\)<0;2,1>": (
        "a row that crosses a register is copied for all lanes under the mask of the first two"
    ),
    rf"{_GUARD}pow[ .].*(\bHF|:hf)": PAIRWISE["pow"],
    rf"{_GUARD}(cos|exp|inv|log|rsqrt|sin|sqrt|divm|sqrtm)[ .].*:(u?v|vf)\b": _PACKED,
}


def unsuited(line: str) -> str:
    """Why random kernels leave out a statement; empty where they do not."""
    return next((why for form, why in STATEMENTS.items() if re.match(form, line)), "")
