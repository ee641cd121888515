"""Native Gen9 code: words, their compacted form, and assembly text."""

from __future__ import annotations

from eumu.isa.messages.descriptor import Message, describe
from eumu.native.parser import parse
from eumu.native.program import Instruction, Program
from eumu.native.rules import check
from eumu.native.text import message_note, print_instruction, print_program
from eumu.native.words import compact, decode, encode, uncompact

__all__ = [
    "Instruction",
    "Message",
    "Program",
    "check",
    "compact",
    "decode",
    "describe",
    "encode",
    "message_note",
    "parse",
    "print_instruction",
    "print_program",
    "uncompact",
]
