"""Rules on the legacy memory messages: surfaces, payload types, blocks, atomics.

Source: vISA pages "GATHER4_SCALED", "OWORD_LD", "MEDIA_LD", "DWORD_ATOMIC", "SVM_ATOMIC".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from eumu.isa.kinds.operands import General, Immediate, Raw
from eumu.isa.kinds.raw import (
    AtomicKind,
    AtomicOperation,
    BlockSize,
    BlockSizeKind,
    MediaBlock,
    MediaBlockKind,
    SurfaceKind,
)
from eumu.isa.kinds.sampler import Pointer
from eumu.isa.kinds.variables import SurfaceVariable
from eumu.isa.limits import By
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa.surface import ATOMICS
from eumu.types import DF, HF, TYPES, UD, UQ, D, F, Q, Type
from eumu.verify.execution import ordered
from eumu.verify.operands import emitted_rows, type_rows
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

# ---- surfaces


@rule(
    "surface-slm",
    "Shared local memory has bytes, but no surface format; since Gen11, blocks of owords reach it.",
    on=On.OPERAND,
    kinds=(SurfaceKind,),
)
def surface_slm(use: Use, field: Field, operand: SurfaceVariable | Pointer) -> Iterator[Finding]:
    if not _is_predefined(operand, "%slm"):
        return
    allowed, own = use.opcode.limits.slm, use.opcode.front_end.slm
    if use.subject.parity and own is not None:
        allowed = own
    if use.subject.platform.name not in allowed:
        some = f" on {use.subject.platform}; it can on {ordered(allowed)}" if allowed else ""
        yield Finding(f"{use.opcode} cannot access shared local memory{some}", field.name)


@rule(
    "surface-scratch",
    "Scratch space has bytes, but no surface format.",
    on=On.OPERAND,
    kinds=(SurfaceKind,),
)
def surface_scratch(
    use: Use, field: Field, operand: SurfaceVariable | Pointer
) -> Iterator[Finding]:
    if _is_predefined(operand, "%scratch") and use.opcode.limits.texels:
        yield Finding(f"{use.opcode} cannot access the scratch space", field.name)


def _is_predefined(operand: SurfaceVariable | Pointer, name: str) -> bool:
    if isinstance(operand, Pointer):
        return False
    return operand.name == name and operand.predefined is not None


# ---- types of payloads


def _typed_payload(opcode: Opcode) -> bool:
    return any(row.fields and not row.src and not row.dst for row in opcode.types)


_DATA: Final = ("dst", "src")


@cache
def _payload_types(opcode: Opcode, platform: str, parity: bool) -> dict[str, frozenset[Type]]:
    by_operand: dict[str, frozenset[Type]] = {}
    for row in type_rows(opcode, platform, parity=parity):
        for name, types in row.fields:
            by_operand[name] = by_operand.get(name, frozenset()) | types
    return by_operand


@rule(
    "payload-type",
    "The message defines what its registers hold.",
    on=On.INSTRUCTION,
    applies=_typed_payload,
)
def payload_type(use: Use) -> Iterator[Finding]:
    allowed = _payload_types(use.opcode, use.subject.platform.name, use.subject.parity)
    for name, types in allowed.items():
        type = _type(use.operand(name))
        if type is None or type in types:
            continue
        if use.subject.parity or not _is_bits(use, name, type, types):
            yield _payload_finding(use, name, type, types)


@rule(
    "payload-type-emitted",
    "The message interprets the bits as it defines them, whatever the type of the variable is.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=_typed_payload,
)
def payload_type_emitted(use: Use) -> Iterator[Finding]:
    allowed = _payload_types(use.opcode, use.subject.platform.name, False)
    for name, types in allowed.items():
        type = _type(use.operand(name))
        if type is not None and type not in types and _is_bits(use, name, type, types):
            yield _payload_finding(use, name, type, types)


def _is_bits(use: Use, name: str, type: Type, types: frozenset[Type]) -> bool:
    """Whether a message takes the bits for what it says, and the compiler writes such."""
    if only_signs_differ(type, types):
        return True
    emitted = emitted_rows(use.opcode, use.subject.platform.name, whole=False)
    if any(type in dict(row.fields).get(name, ()) for row in emitted):
        return True
    theirs = _payload_types(use.opcode, use.subject.platform.name, True).get(name)
    return name in _DATA and (theirs is None or type in theirs)


def only_signs_differ(type: Type, allowed: Iterable[Type]) -> bool:
    """Whether a type is a whole number of the size of another one that is allowed."""
    return type.is_int and any(t.is_int and t.bits == type.bits for t in allowed)


def _payload_finding(use: Use, name: str, type: Type, types: frozenset[Type]) -> Finding:
    legal = listed(f":{t}" for t in TYPES.values() if t in types)
    return Finding(f"{name} is :{type}; {use.opcode} takes {legal}", name)


def _type(operand: Any) -> Type | None:
    if isinstance(operand, Raw):
        return None if operand.variable is None else operand.variable.type
    return operand.type if isinstance(operand, General | Immediate) else None


# ---- blocks

# Width of a media block in bytes -> most rows.
_MEDIA_ROWS: Final = ((4, 64), (8, 32), (16, 16), (32, 8), (64, 4))


@rule(
    "media-block",
    "A block fills eight registers at most, its rows a power of two apart.",
    on=On.OPERAND,
    kinds=(MediaBlockKind,),
)
def media_block(use: Use, field: Field, operand: MediaBlock) -> Iterator[Finding]:
    rows = next((rows for width, rows in _MEDIA_ROWS if operand.width <= width), 0)
    if operand.height > rows:
        yield Finding(
            f"{operand.height} rows of {operand.width} bytes; up to {rows} rows are allowed",
            field.name,
        )


@rule(
    "oword-count",
    "Only shared local memory gives sixteen owords at once.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(BlockSizeKind,),
)
def oword_count(use: Use, field: Field, operand: BlockSize) -> Iterator[Finding]:
    surface = use.operand("surface")
    if operand.owords == 16 and surface is not None and surface.name != "%slm":
        yield Finding("a block of 16 owords; up to 8 are allowed but in %slm", field.name)


@rule(
    "block-unaligned",
    "Intel's front end does not accept the word.",
    on=On.OPERAND,
    by=By.FRONT_END,
    kinds=(BlockSizeKind,),
)
def block_unaligned(use: Use, field: Field, operand: BlockSize) -> Iterator[Finding]:
    if operand.unaligned:
        yield Finding(f"{use.opcode} has no '.unaligned' here", field.name)


# ---- atomics

_ATOMIC_TYPES: Final[dict[tuple[str, int], tuple[Type, ...]]] = {
    ("unsigned", 32): (UD,),
    ("signed", 32): (D,),
    ("float", 32): (F,),
    ("unsigned", 64): (UQ,),
    ("signed", 64): (Q,),
    ("float", 64): (DF,),
}
_SOURCES: Final = ("src0", "src1")
_WITHOUT_SHORT_ATOMICS: Final = ("bdw", "skl", "bxt", "icllp")


def is_atomic(opcode: Opcode) -> bool:
    """Whether it is a legacy atomic message."""
    return any(isinstance(f.kind, AtomicKind) for f in opcode.fields)


def _checked_by_front_end(use: Use) -> bool:
    """Intel's front end looks at the operands of one of the three atomic messages."""
    return not use.subject.parity or use.opcode.front_end.checks_atomics


@rule(
    "atomic-source",
    "The message has as many sources as the operation.",
    on=On.INSTRUCTION,
    applies=is_atomic,
)
def atomic_source(use: Use) -> Iterator[Finding]:
    if not _checked_by_front_end(use):
        return
    operation: AtomicOperation = use.operand("operation")
    wanted = ATOMICS[operation.name].sources
    if use.subject.parity and operation.bits == 16:
        wanted = (0,)  # its width hides the operation from the front end
    for index, name in enumerate(_SOURCES):
        raw: Raw = use.operand(name)
        if raw.variable is not None and index not in wanted:
            yield Finding(f"{name} of '{operation.name}' must be %null.0", name)


@rule(
    "atomic-width",
    "Before Tiger Lake, the memory's arithmetic unit has no 16-bit elements.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_atomic,
)
def atomic_width(use: Use) -> Iterator[Finding]:
    operation: AtomicOperation = use.operand("operation")
    here = use.subject.platform.name
    if operation.bits == 16 and here in _WITHOUT_SHORT_ATOMICS:
        yield Finding(
            f"'{operation.name}.16' is not there on {here}; it is from tgllp on", "operation"
        )


@rule(
    "atomic-missing",
    "The operation needs this source.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_atomic,
)
def atomic_missing(use: Use) -> Iterator[Finding]:
    operation: AtomicOperation = use.operand("operation")
    for index in ATOMICS[operation.name].sources:
        if use.operand(_SOURCES[index]).variable is None:
            yield Finding(f"'{operation.name}' needs {_SOURCES[index]}", _SOURCES[index])


@rule(
    "atomic-type",
    "The operation compares and adds numbers of one kind.",
    on=On.INSTRUCTION,
    applies=is_atomic,
)
def atomic_type(use: Use) -> Iterator[Finding]:
    if not _checked_by_front_end(use):
        return
    for name, type, allowed in _wrong_atomic_types(use):
        emitted = not use.subject.parity and type.size == allowed[0].size
        if use.opcode.front_end.checks_atomics or not emitted:
            yield _atomic_type_finding(use, name, type, allowed)


@rule(
    "atomic-type-emitted",
    "The memory's arithmetic unit interprets the bits as the operation says.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: is_atomic(opcode) and not opcode.front_end.checks_atomics,
)
def atomic_type_emitted(use: Use) -> Iterator[Finding]:
    for name, type, allowed in _wrong_atomic_types(use):
        if type.size == allowed[0].size:
            yield _atomic_type_finding(use, name, type, allowed)


def _wrong_atomic_types(use: Use) -> Iterator[tuple[str, Type, tuple[Type, ...]]]:
    """Operands whose type is not the operation's: name, type, what is allowed."""
    operation: AtomicOperation = use.operand("operation")
    allowed = _atomic_types(operation, parity=use.subject.parity)
    for name in (*_SOURCES, "dst"):
        raw: Raw = use.operand(name)
        if raw.variable is not None and raw.variable.type not in allowed:
            yield name, raw.variable.type, allowed


def _atomic_type_finding(use: Use, name: str, type: Type, allowed: tuple[Type, ...]) -> Finding:
    operation: AtomicOperation = use.operand("operation")
    shown = operation.name if operation.bits == 32 else f"{operation.name}.{operation.bits}"
    legal = listed(f":{t}" for t in allowed)
    return Finding(f"{name} is :{type}; '{shown}' takes {legal}", name)


def _atomic_types(operation: AtomicOperation, *, parity: bool) -> tuple[Type, ...]:
    """16-bit elements lie in dwords; halves among floats may be declared as what they are."""
    if parity and operation.bits == 16:
        return (UD,)
    kind = ATOMICS[operation.name].kind
    types = _ATOMIC_TYPES[kind, max(32, operation.bits)]
    if operation.name in ("add", "sub") and operation.bits < 64:
        return (UD, D)
    return (*types, HF) if kind == "float" and operation.bits == 16 else types
