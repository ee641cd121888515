"""Words to instructions and back.  Nothing here knows an opcode: the registry and its kinds do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from eumu.errors import BuildError, Diagnostic, Source, Span
from eumu.isa.gen9 import GEN9
from eumu.isa.gen9.bits import COMPACT, CONDITION, OPCODE, Undecodable, Unencodable
from eumu.isa.gen9.kinds import InstructionSite, NativeKind, TernaryExecKind
from eumu.isa.spec import Opcode
from eumu.native.compaction import expand, shorten
from eumu.native.gen8 import require
from eumu.native.program import FULL, HALF, Instruction, Program
from eumu.platforms import Platform
from eumu.platforms import platform as platform_of
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Wrong:
    """Bytes that are no instruction."""

    offset: int
    data: bytes
    message: str

    def diagnostic(self, name: str) -> Diagnostic:
        """The finding, placed on the bytes in hexadecimal."""
        text = self.data[::-1].hex()
        source = Source(f"{name or 'code'}+{self.offset:#x}", text)
        span = Span(source, 1, 1, 1, len(text) + 1)
        return Diagnostic("encoding", self.message, span)


def native_platform(name: str | Platform) -> Platform:
    """The platform, if its native code is that of Gen9 or Gen8; else `BuildError`."""
    target = platform_of(name)
    if not target.has_native_level:
        message = f"native code of {target} ({target.title}) is {target.generation}, not gen9"
        raise BuildError(message)
    return target


def decode(data: bytes, platform: str | Platform = "bxt", name: str = "") -> Program:
    """The instructions of native code.

    Raises `BuildError` with a diagnostic for everything that is no instruction.
    """
    target = native_platform(platform)
    instructions: list[Instruction] = []
    wrong: list[Wrong] = []
    for item in scan(data, target):
        if isinstance(item, Wrong):
            wrong.append(item)
        else:
            instructions.append(item)
    if wrong:
        raise BuildError.of(item.diagnostic(name) for item in wrong)
    require(instructions, target, name)
    end = instructions[-1].offset + instructions[-1].size if instructions else 0
    return Program(tuple(instructions), target, name, data[end:])


def scan(data: bytes, platform: str | Platform = "bxt") -> Iterator[Instruction | Wrong]:
    """Instructions and what is none, in order.

    Zero bytes at the end that are too few for an instruction are padding.
    """
    offset, is_gen8 = 0, native_platform(platform).generation == "gen8"
    while offset < len(data):
        first = int.from_bytes(data[offset : offset + HALF], "little")
        size = HALF if COMPACT.get(first) else FULL
        part = data[offset : offset + size]
        if len(part) < size:
            if any(part):
                message = f"the code ends {size - len(part)} bytes before this instruction does"
                yield Wrong(offset, part, message)
            return
        try:
            yield decode_word(int.from_bytes(part, "little"), offset, is_gen8=is_gen8)
        except Undecodable as error:
            yield Wrong(offset, part, str(error))
        offset += size


def decode_word(word: int, offset: int = 0, *, is_gen8: bool = False) -> Instruction:
    """The instruction of a 128-bit or (compaction bit set) 64-bit word; raises `Undecodable`."""
    compacted = bool(COMPACT.get(word))
    half = word & (1 << 64) - 1
    if compacted:
        word = uncompact(half)
    opcode = find_opcode(word)
    site = InstructionSite(offset, offset + (HALF if compacted else FULL), is_gen8)
    operands = tuple(field_kind(f.kind).decode(word, site) for f in opcode.fields)
    instruction = Instruction(opcode, operands, offset, compacted)
    half_residue = half ^ (compact(word) or 0) if compacted else 0
    residue = word ^ encode_word(instruction)
    return replace(instruction, residue=residue, half_residue=half_residue)


def encode_word(instruction: Instruction) -> int:
    """The 128-bit word, compacted or not; raises `Unencodable`."""
    opcode = instruction.opcode
    word = OPCODE.put(opcode.number)
    if opcode.sub is not None:
        word |= CONDITION.put(opcode.sub)
    site = instruction.site
    for field, operand in zip(opcode.fields, instruction.operands, strict=True):
        word |= field_kind(field.kind).encode(operand, site)
    return word ^ instruction.residue


def encode(program: Program) -> bytes:
    """The bytes of a program; raises `Unencodable` for operands that fit no word."""
    return b"".join(map(encode_instruction, program.instructions)) + program.padding


def encode_instruction(instruction: Instruction) -> bytes:
    """The 16 or 8 bytes of an instruction."""
    word = encode_word(instruction)
    if not instruction.compacted:
        return word.to_bytes(FULL, "little")
    half = compact(word)
    if half is None:
        raise Unencodable(f"this {instruction.opcode} has no compacted form")
    return (half ^ instruction.half_residue).to_bytes(HALF, "little")


def compact(word: int, *, loose: bool = False) -> int | None:
    """The 64-bit form of a 128-bit word, None if it has none.

    A `loose` form may differ in bits that have no meaning.
    """
    return shorten(word, ternary=OPCODE.get(word) in _ternary_numbers(), loose=loose)


def uncompact(half: int) -> int:
    """The 128-bit word of a 64-bit form, its compaction bit cleared."""
    return expand(half, ternary=OPCODE.get(half) in _ternary_numbers())


def find_opcode(word: int) -> Opcode:
    """The opcode of a word; raises `Undecodable`."""
    number = OPCODE.get(word)
    opcode = GEN9.by_number(number) or GEN9.by_number(number, CONDITION.get(word))
    if opcode is None:
        raise Undecodable(_no_opcode(number, CONDITION.get(word)))
    return opcode


def _no_opcode(number: int, function: int) -> str:
    if any(opcode.number == number for opcode in GEN9):
        return f"opcode {number:#04x} has no function {function}"
    return f"there is no opcode {number:#04x}"


def field_kind(kind: object) -> NativeKind:
    """The kind, which the registry of native code has only native ones of."""
    assert isinstance(kind, NativeKind)
    return kind


@cache
def _ternary_numbers() -> frozenset[int]:
    return frozenset(
        opcode.number
        for opcode in GEN9
        if any(isinstance(field.kind, TernaryExecKind) for field in opcode.fields)
    )
