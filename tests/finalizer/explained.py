"""Where the finalizer's code and the vISA text differ, or it cannot run, and whose fault that is.

Each row is looked at by a test: one that does not differ any more is an error, too.
"""

from __future__ import annotations

from typing import Final

from eumu.types import Kind
from oracle.pairwise import Case

# Run files: stem -> why what the finalizer makes is not what the text says.
RUN_FILES: Final = {
    "wide": "madw: the second register of the result is not written; the carry is lost",
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
        return "the immediate vector is moved to a register by a word without a type, code 15"
    if case.opcode.mnemonic == "sad2add" and first.kind == "i":
        return "sad2 gets an immediate as its first source, which has no place in a word"
    if case.opcode.mnemonic == "cmp" and case.signature.dst.size == 8:
        return "its check refuses destinations of 64 bits"
    return ""
