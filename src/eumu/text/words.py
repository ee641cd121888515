"""The words of vISA text: what an editor offers and a highlighter knows.

Those of instructions come from the registry.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from eumu.isa.kinds.control import ExecKind
from eumu.isa.kinds.variables import PREDEFINED
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.text import directives
from eumu.text.declarations import ALIGNMENTS, ATTRIBUTES, KEYS
from eumu.types import BOOL, TYPES, Kind

# What stands after a dot at the beginning of a line.
DIRECTIVES: Final[dict[str, str]] = {
    "version": "The version of the instruction set, first in a program: `.version 4.1`.",
    "kernel": 'Begins a kernel: `.kernel "name"`.',
    "global_function": "Begins a function that other kernels and functions call with `fcall`.",
    "function": "Begins a subroutine of the kernel, which `call` enters.",
    "funcdecl": "Names a function that is defined elsewhere.",
    "decl": "Declares a variable: `.decl V v_type=G type=d num_elts=16 align=GRF alias=<B, 0>`.",
    "input": "A variable that has a value at entry: `.input V offset=64 size=8`, in bytes.",
    "parameter": "An input in the old form: `.parameter V size=8`.",
    "kernel_attr": "A property of the kernel: `.kernel_attr SimdSize=16`.",
    "file": 'The source file that the instructions come from: `.file "a.cl"`.',
    "loc": "The line of the source that the instructions come from: `.loc 7`.",
}
STATEMENTS: Final = ("FILE", "LOC")
CATEGORIES: Final[dict[str, str]] = {
    "G": "general variable, in registers",
    "A": "address variable, for register-indirect operands",
    "P": "predicate, a bit a lane",
    "S": "sampler",
    "T": "surface",
}
DECLARATION_KEYS: Final = KEYS
VARIABLE_ATTRIBUTES: Final = ATTRIBUTES
ALIGNMENT_WORDS: Final = tuple(dict.fromkeys(ALIGNMENTS.values()))
KERNEL_ATTRIBUTES: Final = (*directives.NUMBERS, *directives.STRINGS, *directives.FLAGS)
PREDEFINED_NAMES: Final = tuple(PREDEFINED)
TYPE_NAMES: Final = tuple(t.name for t in TYPES.values() if t is not BOOL)
VARIABLE_TYPES: Final = tuple(
    t.name for t in TYPES.values() if t is not BOOL and t.kind is not Kind.PACKED
)
MASKS: Final = (*(f"M{n}{suffix}" for n in range(1, 9) for suffix in ("", "_NM")), "NoMask")


@cache
def mnemonics() -> tuple[str, ...]:
    """Every instruction's name, those that are not modelled included."""
    return tuple(sorted({*VISA.mnemonics(), *VISA.unmodelled}))


@cache
def sub_words(mnemonic: str) -> tuple[str, ...]:
    """What may stand behind a dot in an instruction's first word: `sat`, `ugm`, `uc.ca`."""
    words: dict[str, None] = {}
    for opcode in VISA.find(mnemonic):
        words |= dict.fromkeys(_sub_words(opcode))
    return tuple(words)


def _sub_words(opcode: Opcode) -> list[str]:
    words = [opcode.literal_after_mnemonic().strip(".")]
    started = False
    for piece in opcode.pieces:
        literal = piece.literal
        if not started:
            started = opcode.mnemonic in literal
            literal = literal.partition(opcode.mnemonic)[2]
        elif piece.field is not None:
            if isinstance(piece.field.kind, ExecKind):
                break
            words += piece.field.kind.words
        if started and " " in literal:
            break
    return [word for word in words if word]


@cache
def all_sub_words() -> tuple[str, ...]:
    """Those of all instructions, one by one: `uc` and `ca` for `uc.ca`."""
    by_mnemonic = {
        word for name in VISA.mnemonics() for words in sub_words(name) for word in words.split(".")
    }
    for opcode in VISA:
        for field in opcode.fields:
            by_mnemonic.update(part for word in field.kind.words for part in word.split("."))
    return tuple(sorted(by_mnemonic))
