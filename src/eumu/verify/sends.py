"""Rules on messages that a program composes itself: lengths, descriptors, payloads.

Source: vISA pages "RAW_SEND", "RAW_SENDS"; the fields of a descriptor are those of the PRM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.errors import Severity
from eumu.isa.kinds.operands import Immediate, Raw
from eumu.isa.limits import By
from eumu.isa.spec import Opcode
from eumu.verify.rules import Finding, On, rule
from eumu.verify.subject import Use

# Operand that counts registers -> (fewest, most, operand that it counts).
_ONE_PART: Final = {"sources": (1, 15, "src"), "results": (0, 16, "dst")}
_TWO_PARTS: Final = {
    "sources0": (1, 32, "src0"),
    "sources1": (0, 32, "src1"),
    "results": (0, 32, "dst"),
}


def _counts(opcode: Opcode) -> dict[str, tuple[int, int, str]]:
    return _TWO_PARTS if opcode.field("sources0") else _ONE_PART


def is_send(opcode: Opcode) -> bool:
    """Whether an instruction is a message with a descriptor."""
    return opcode.field("desc") is not None and opcode.field("results") is not None


@rule(
    "send-length",
    "The descriptor has this many bits for a length.",
    on=On.INSTRUCTION,
    applies=is_send,
)
def send_length(use: Use) -> Iterator[Finding]:
    for name, (fewest, most, _) in _counts(use.opcode).items():
        count = use.operand(name)
        if not fewest <= count <= most:
            yield Finding(f"{name} is {count}; {fewest} to {most} registers are allowed", name)


def _lengths(use: Use) -> tuple[int, int] | None:
    """Registers of the message and of the answer by a descriptor that is known."""
    descriptor = use.operand("desc")
    if not isinstance(descriptor, Immediate):
        return None
    return descriptor.bits >> 25 & 15, descriptor.bits >> 20 & 31


@rule(
    "send-descriptor",
    "The hardware moves as many registers as the descriptor says.",
    on=On.INSTRUCTION,
    applies=lambda opcode: is_send(opcode) and opcode.field("sources") is not None,
)
def send_descriptor(use: Use) -> Iterator[Finding]:
    lengths = _lengths(use)
    if lengths is None:
        return
    for name, length in zip(("sources", "results"), lengths, strict=True):
        if use.operand(name) < length:
            yield Finding(
                f"{name} is {use.operand(name)}, the descriptor says {length} registers", name
            )


@rule(
    "send-longer",
    "Registers that the descriptor does not count are neither sent nor written.",
    on=On.INSTRUCTION,
    severity=Severity.WARNING,
    by=None,
    applies=is_send,
)
def send_longer(use: Use) -> Iterator[Finding]:
    lengths = _lengths(use)
    if lengths is None:
        return
    first = "sources" if use.opcode.field("sources") else "sources0"
    for name, length in zip((first, "results"), lengths, strict=True):
        if use.operand(name) > length:
            yield Finding(
                f"{name} is {use.operand(name)}, the descriptor says {length} registers", name
            )


@rule(
    "send-payload",
    "Registers beyond the variable belong to other variables.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_send,
)
def send_payload(use: Use) -> Iterator[Finding]:
    grf = use.subject.grf
    for name, (_, _, operand) in _counts(use.opcode).items():
        raw: Raw = use.operand(operand)
        if raw.variable is None:
            continue
        owner, offset = raw.variable.origin()
        end, size = offset + raw.offset + grf * use.operand(name), use.subject.size(owner)
        if end > size:
            yield Finding(
                f"{use.operand(name)} registers from byte {offset + raw.offset} of '{owner.name}',"
                f" which has {size} bytes",
                operand,
            )
