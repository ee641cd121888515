"""What Intel's front end refuses by its grammar alone, and what it lets pass.

eumu's parser reads a little more: line ends of other systems, spellings of the documents.  It
refuses a little that the front end takes and makes something else of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from eumu.errors import Diagnostic, Source, Span
from eumu.isa.kinds.lsc import LscDataKind
from eumu.isa.kinds.operands import General, Immediate
from eumu.isa.kinds.sampler import AllChannelsKind
from eumu.isa.kinds.vector import SourceKind
from eumu.isa.limits import By
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa.registry import NO_TOKENS
from eumu.isa.visa.sync import Participants, ParticipantsKind
from eumu.types import DF, HF, F
from eumu.verify.operands import is_typed
from eumu.verify.place import DeclaredNames, operand_span
from eumu.verify.regions import extent
from eumu.verify.rules import Finding, On, rule
from eumu.verify.subject import Use

# Codes of parse errors that the front end does not share, and what it does instead.
TOLERATED: Final[dict[str, str]] = {
    "labels": "it makes a switch of more than 32 labels",
    "count": "it prints a complaint about the number and goes on",
    "literal": "it drops the upper bits",
    "attribute-value": "it reads a missing value as none",
    "block-mask": "it takes the size of a block for an execution size, and drops the mask",
    "address-width": "it does not look at the width of an address operand",
    "parameters": "it takes any number of parameters of a sampler message",
    "lanes": "it makes 8 lanes of 32 in old sampler messages",
    "option": "it drops words of `rt_write_3d` that it does not know",
    "registers": "it drops registers of `rt_write_3d` that no option asks for",
}
# What it has no rule for, although the documents and its scanner know the words.
_UNREAD: Final = NO_TOKENS | {
    *("lsc_apndctr_atomic_add", "lsc_apndctr_atomic_sub", "lsc_ccs_update"),
}
# `1:f` and `0x1:f` are bits, half floats hexadecimal; no float is an expression.
_FLOAT_LITERAL: Final = re.compile(r"0[xX][0-9a-fA-F]+\s*:hf|-?\s*\w[\w.+-]*\s*:d?f", re.I)
_DOCUMENTED_SIZE: Final = re.compile(r":[du](8|16)u32")
_WORD: Final = re.compile(r"[ \t]*(?:\([^()]*\)[ \t]*)?([A-Za-z_]\w*)")
_NO_STRIDE: Final = re.compile(r"<\s*;")
_NO_CHANNELS: Final = re.compile(r"(?:resinfo|sampleinfo)\s")
_ELEMENT: Final = re.compile(r"\b(gather|scatter)\.\d")


def tolerated(diagnostic: Diagnostic) -> bool:
    """Whether the front end does not share a parse error."""
    if diagnostic.code not in TOLERATED:
        return False
    span = diagnostic.span  # of all counts, it checks the size of these elements
    return not (span and _ELEMENT.search(span.source.line(span.line)))


@rule(
    "front-end-instruction",
    "Intel's front end reads the word but refuses every use of it.",
    on=On.INSTRUCTION,
    by=By.FRONT_END,
    applies=lambda opcode: opcode.mnemonic in _UNREAD,
)
def front_end_instruction(use: Use) -> Iterator[str]:
    yield f"{use.opcode} is not read by Intel's front end"


@rule(
    "front-end-word",
    "Intel's front end does not accept the documents' capitals and page names as words.",
    on=On.INSTRUCTION,
    by=By.FRONT_END,
)
def front_end_word(use: Use) -> Iterator[str]:
    span = use.inst.span
    match = span and _WORD.match(span.source.line(span.line), span.column - 1)
    if match and match[1] != use.opcode.mnemonic:
        yield f"{match[1]} is no word; Intel's front end reads {use.opcode.mnemonic}"


@rule(
    "front-end-region",
    "The documents leave the vertical stride empty; Intel's front end then reads no semicolon.",
    on=On.INSTRUCTION,
    by=By.FRONT_END,
)
def front_end_region(use: Use) -> Iterator[str]:
    span = use.inst.span
    if span is not None and _NO_STRIDE.search(span.source.line(span.line), span.column - 1):
        yield "an empty vertical stride; Intel's front end reads <w,h>"


@rule(
    "front-end-size",
    "Intel's front end spells these sizes d8c32 and d16c32.",
    on=On.INSTRUCTION,
    by=By.FRONT_END,
    applies=lambda opcode: any(isinstance(f.kind, LscDataKind) for f in opcode.fields),
)
def front_end_size(use: Use) -> Iterator[str]:
    span = use.inst.span
    if span is not None and _DOCUMENTED_SIZE.search(span.source.line(span.line)):
        yield "the documents' spelling of a data size; Intel's front end reads d8c32 and d16c32"


@rule(
    "front-end-channels",
    "The documents omit the channels; Intel's front end requires them.",
    on=On.OPERAND,
    by=By.FRONT_END,
    kinds=(AllChannelsKind,),
)
def front_end_channels(use: Use, field: Field, operand: object) -> Iterator[Finding]:
    span = use.inst.span
    if span is not None and _NO_CHANNELS.match(span.source.line(span.line), span.column - 1):
        yield Finding(f"{use.opcode} without channels; Intel's front end needs them")


@rule(
    "front-end-barrier",
    "Intel's front end reads a number of threads here, not roles.",
    on=On.OPERAND,
    by=By.FRONT_END,
    kinds=(ParticipantsKind,),
)
def front_end_barrier(use: Use, field: Field, operand: Participants) -> Iterator[Finding]:
    if operand.role is not None:
        yield Finding("producers and consumers; Intel's front end reads one number", field.name)


@rule(
    "front-end-literal",
    "Intel's front end reads only one literal here, and half floats in hexadecimal.",
    on=On.OPERAND,
    by=By.FRONT_END,
    kinds=(SourceKind,),
    classes=(Immediate,),
)
def front_end_literal(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if not isinstance(operand, Immediate) or operand.type not in (HF, F, DF):
        return
    names = DeclaredNames(use.subject.kernel, use.subject.grf)
    span = operand_span(names, use.inst, field.name)
    if span is None or span == use.inst.span:
        return
    text = span.source.line(span.line)[span.column - 1 : span.end_column - 1]
    if not _FLOAT_LITERAL.fullmatch(text):
        yield Finding(f"{text} is not read as a float", field.name)


def _is_unsplit(opcode: Opcode, field: Field) -> bool:
    """It splits no addresses and no messages; at a message's offset in a surface it never looks."""
    if is_typed(opcode):
        return "a" in opcode.limits.operands.get("dst", "")
    return field.name != "offset"


@rule(
    "front-end-span",
    "Intel's front end splits operands only for arithmetic and moves.",
    on=On.OPERAND,
    by=By.FRONT_END,
    kinds=(SourceKind,),
    classes=(General,),
    concerns=lambda opcode, field, found, parity: _is_unsplit(opcode, field),
)
def front_end_span(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if not isinstance(operand, General) or operand.width > use.size:
        return
    grf = use.subject.grf
    first, end = extent(operand, use.size, grf, is_dst=False)
    start = operand.variable.origin()[1]
    count = (start + end - 1) // grf - (start + first) // grf + 1
    if count > 2 or end - first > 2 * grf:
        yield Finding(f"the region spans {count} registers; up to 2 are allowed", field.name)


def line_ends(source: Source) -> Iterator[Diagnostic]:
    """A carriage return is no blank to Intel's scanner."""
    at = source.text.find("\r")
    if at >= 0:
        line = source.text.count("\n", 0, at) + 1
        column = at - source.text.rfind("\n", 0, at)
        span = Span(source, line, column, line, column + 1)
        yield Diagnostic("front-end-lines", "a carriage return", span)
