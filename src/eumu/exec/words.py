"""How faults speak of threads and places, the same from both engines."""

from __future__ import annotations

from collections.abc import Iterable

from eumu.errors import ranges
from eumu.exec.state import instruction_span, instruction_text
from eumu.ir import Function


def threads(numbers: Iterable[int]) -> str:
    """`thread 3`, `threads 0-2, 5`"""
    found = [int(n) for n in numbers]
    return f"thread{'s' * (len(found) != 1)} {ranges(found)}"


def waiting(numbers: Iterable[int]) -> str:
    """`thread 3 waits`, `threads 0-2, 5 wait`"""
    found = [int(n) for n in numbers]
    return f"{threads(found)} wait{'s' * (len(found) == 1)}"


def place(function: Function, inst: int) -> str:
    """An instruction: where it stands and how it reads."""
    span, text = instruction_span(function, inst), instruction_text(function, inst)
    return f"{span}: {text}" if span else text


def first_instruction(function: Function, block: int) -> int:
    """The first instruction of a block."""
    found = function.blocks[block]
    insts = [op.inst for op in found.ops if op.inst >= 0]
    return insts[0] if insts or found.end is None else found.end.inst


def block_place(function: Function, block: int) -> str:
    """A block: its label and its first instruction."""
    label = function.blocks[block].label
    return f"{label} ({place(function, first_instruction(function, block))})"
