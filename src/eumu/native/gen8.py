"""What Gen8 lacks of Gen9's native code.

The words are the same, and so is what they do; Intel's assembler has two instructions fewer for
Gen8 (sends and sendsc).  Halves are only moved by what the compiler makes for Broadwell: it widens
them first.  Public drivers say of the math unit and of instructions that mix F and HF that they
came later (Mesa, brw_eu_emit.c and brw_eu_validate.c); of the others nobody says what they do to
denormal halves, so they are refused, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from eumu.errors import BuildError, Diagnostic, Source, Span
from eumu.native.program import Instruction
from eumu.platforms import Platform
from eumu.types import HF

_GENERATION: Final = "gen8"
_LATER: Final = ("sends", "sendsc")
_MOVES: Final = ("mov", "movi", "smov")


def absent(instruction: Instruction, target: Platform) -> str:
    """Why an instruction is not run on a platform, "" if it is."""
    if target.generation != _GENERATION:
        return ""
    name = instruction.opcode.mnemonic
    if name in _LATER:
        return f"{target} ({target.title}) has no {name}: it came with Gen9"
    halves = any(getattr(o, "type", None) is HF for o in instruction.operands)
    if halves and name not in _MOVES:
        return f"{name} with :hf on {target} ({target.title}) is not modelled: Gen8 moves :hf only"
    return ""


def require(instructions: Iterable[Instruction], target: Platform, name: str) -> None:
    """Raise `BuildError` for instructions that the platform does not have."""
    found = list(_absent(instructions, target, name))
    if found:
        raise BuildError.of(found)


def _absent(
    instructions: Iterable[Instruction], target: Platform, name: str
) -> Iterator[Diagnostic]:
    if target.generation != _GENERATION:
        return
    for instruction in instructions:
        why = absent(instruction, target)
        if why:
            text = instruction.opcode.mnemonic
            source = Source(f"{name or 'code'}+{instruction.offset:#x}", text)
            span = instruction.span or Span(source, 1, 1, 1, len(text) + 1)
            yield Diagnostic("generation", why, span)
