"""What Intel's finalizer is known to make of vector instructions that is not what the text says."""

from __future__ import annotations

from typing import Final

PACKED: Final = "the immediate vector is moved to a register by a word without a type, code 15"
ALIGN16: Final = "three sources have Align16 words, which lose .any and .all of predicates"
SIGNED: Final = "an immediate vector of words without sign is read as words with sign"
SHIFTED: Final = (
    "a constant of 64 bits that fits into 32 becomes one, and counts lose their sixth bit"
)
ROUNDED_TWICE: Final = "an immediate vector makes it a product and a sum, each of which is rounded"
FEW_HALVES: Final = (
    "functions of less than eight halves are made in parts, whose function and lanes are what"
    " memory held: the code is another each time"
)
HALVES_AT_AN_ADDRESS: Final = "the second half begins one byte on, not one element"
ONE_SELECTED: Final = (
    "a selection of one element that is made in another place has the predicate of lane 0"
)
# Vector instructions: name -> what the finalizer makes of the text.
PAIRWISE: Final = {
    "addc": "the carry is copied from the accumulator without the predicate",
    "subb": "the borrow is copied from the accumulator without the predicate",
    "sad2add": "it becomes sad2 and an add of all lanes, so that odd lanes change",
    "max": "the front end drops the predicate, for which the object file has no place",
    "min": "the front end drops the predicate, for which the object file has no place",
    "madw": "the second register of the result is not written; the carry is lost",
    "bfe": f"{ALIGN16}; sources of mixed sign all get the first one's type",
    "bfi": ALIGN16,
    "lrp": ALIGN16,
    "mulh": "an immediate vector is multiplied as signed words in the first step of two",
    "pow": "a base of half precision makes the result one, which is rounded before it is widened",
}
# Those with functions of their own.
MATH: Final = frozenset({"cos", "exp", "inv", "log", "rsqrt", "sin", "sqrt"})
