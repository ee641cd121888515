"""The assembly text, as Intel's assembler writes it, blanks and comments aside.

A label stands in front of every instruction that a branch may go to or that follows a branch, and
is its byte offset: `L320:`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eumu.isa.gen9.kinds import OptionsKind, braces
from eumu.isa.gen9.operands import BranchTarget, InstructionOptions
from eumu.isa.messages.descriptor import describe
from eumu.native.program import Instruction, Program
from eumu.native.words import field_kind

# Columns where predicate, condition, operands and braces begin.
_PREDICATE_WIDTH, _HEAD_WIDTH, _OPERAND_WIDTH, _BODY_WIDTH = 8, 33, 17, 100

Note = Callable[[Instruction], str]


def print_program(program: Program, note: Note | None = None) -> str:
    """The text of a program; `note` gives the comment behind an instruction."""
    leaders = set(_leaders(program))
    lines = []
    for instruction in program.instructions:
        if instruction.offset in leaders:
            lines.append(f"L{instruction.offset}:")
        lines.append(print_instruction(instruction, note(instruction) if note else ""))
    return "".join(f"{line}\n" for line in lines)


def _leaders(program: Program) -> Iterator[int]:
    yield 0
    for instruction in program.instructions:
        ends_thread = any(isinstance(o, InstructionOptions) and o.eot for o in instruction.operands)
        if instruction.opcode.flow or ends_thread:
            yield instruction.offset + instruction.size
        yield from (o.offset for o in instruction.operands if isinstance(o, BranchTarget))


def print_instruction(instruction: Instruction, note: str = "") -> str:
    """One line of text, its tokens in columns."""
    predicate, head, body, options = _tokens(instruction)
    line = f"{predicate:<{_PREDICATE_WIDTH - 1}} {head}" if predicate else " " * 8 + head
    if body:
        line = f"{line:<{_HEAD_WIDTH - 1}} {body}"
    if options:
        line = f"{line:<{_BODY_WIDTH - 1}} {options}"
    return f"{line:<{_BODY_WIDTH - 1}} // {note}" if note else line.rstrip()


def _tokens(instruction: Instruction) -> tuple[str, str, str, str]:
    """Predicate, mnemonic with execution size, operands, and what stands in braces."""
    predicate, head = "", ""
    body: list[str] = []
    words: list[str] = []
    for piece in instruction.opcode.pieces:
        if piece.field is None:
            head += piece.literal if not body else ""
            continue
        kind, operand = field_kind(piece.field.kind), instruction.operands[piece.field.index]
        if isinstance(kind, OptionsKind):
            words += kind.braced(operand)
        elif piece.part:
            predicate = kind.print_part(piece.part, operand)
        elif piece.field.name in ("branch", "exec"):
            head += kind.print(operand)
        elif text := kind.print(operand):
            body.append(text)
    if instruction.compacted:
        words.append("Compacted")
    columns = [f"{text:<{_OPERAND_WIDTH}}" for text in body]
    return predicate, head.strip(), " ".join(columns).rstrip(), braces(words)


def message_note(instruction: Instruction) -> str:
    """What a message with immediate descriptors asks for; nothing for other instructions."""
    ex_desc, desc = instruction.operand("ex_desc"), instruction.operand("desc")
    if not isinstance(ex_desc, int) or not isinstance(desc, int):
        return ""
    message = describe(ex_desc, desc)
    sent = message.get("message length"), message.get("extended message length")
    return f"{message}; sends {sent[0]}+{sent[1]}, takes {message.get('response length')}"
