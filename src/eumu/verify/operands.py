"""Rules on vector operands: classes, types, regions, modifiers, saturation.

Source: vISA pages "Operands" and "Datatypes", and the types that each instruction's page lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from eumu.isa.kinds.operands import (
    AddressOf,
    AddressOperand,
    General,
    Immediate,
    Indirect,
    PredicateOperand,
    StateOperand,
)
from eumu.isa.kinds.variables import Declared
from eumu.isa.kinds.vector import DestinationKind, SourceKind
from eumu.isa.limits import DESTINATION, MODIFIERS, SOURCE, By, TypeRow
from eumu.isa.spec import Field, Opcode
from eumu.types import BOOL, TYPES, Type
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

PAGE: Final = "5 Operands"
VECTOR: Final = (SourceKind, DestinationKind)

_CLASSES: Final = {
    General: ("g", "a general variable"),
    Indirect: ("r", "an indirect operand"),
    Immediate: ("i", "an immediate"),
    PredicateOperand: ("p", "a predicate variable"),
    AddressOperand: ("a", "an address variable"),
    AddressOf: ("&", "the address of a variable"),
    StateOperand: ("s", "a surface or sampler variable"),
}
_WORDS: Final = dict(_CLASSES.values())


def is_typed(opcode: Opcode) -> bool:
    """Whether the documents list the types of the instruction's operands."""
    return any(row.src or row.dst for row in opcode.types)


@cache
def _letters(opcode: Opcode, name: str, *, is_dst: bool, parity: bool) -> str:
    own = opcode.front_end.operands if parity else None
    operands = own if own is not None else opcode.limits.operands
    return operands.get(name, DESTINATION if is_dst else SOURCE)


def _is_emitted_class(opcode: Opcode, field: Field, operand_type: type, parity: bool) -> bool:
    """Whether Intel's compiler gives a field operands of a class, against the documents."""
    letter = _CLASSES[operand_type][0] if operand_type in _CLASSES else ""
    return (
        bool(letter)
        and not parity
        and letter in opcode.front_end.emitted_operands.get(field.name, "")
    )


@rule(
    "operand-class-emitted",
    "The encoding of the instruction has no place for other operands.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=VECTOR,
    concerns=_is_emitted_class,
)
def operand_class_emitted(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    yield Finding(f"{field.name} is {_CLASSES[type(operand)][1]}", field.name)


def _is_foreign(opcode: Opcode, field: Field, operand_type: type, parity: bool) -> bool:
    """Whether a field takes no operands of a class."""
    letter = _CLASSES[operand_type][0] if operand_type in _CLASSES else ""
    if not letter or (not is_typed(opcode) and letter in "gri"):
        return False
    if _is_emitted_class(opcode, field, operand_type, parity):
        return False
    is_dst = isinstance(field.kind, DestinationKind)
    return letter not in _letters(opcode, field.name, is_dst=is_dst, parity=parity)


@rule(
    "operand-class",
    "The encoding of the instruction has no place for other operands.",
    on=On.OPERAND,
    kinds=VECTOR,
    concerns=_is_foreign,
)
def operand_class(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    is_dst = isinstance(field.kind, DestinationKind)
    allowed = _letters(use.opcode, field.name, is_dst=is_dst, parity=use.subject.parity)
    legal = " or ".join(_WORDS[letter] for letter in allowed)
    actual = _CLASSES[type(operand)][1]
    yield Finding(f"{field.name} is {actual}; {use.opcode} takes {legal}", field.name)


def _has_foreign(use: Use) -> bool:
    return any(
        _is_foreign(use.opcode, f, type(use.inst.operands[f.index]), use.subject.parity)
        for f in use.opcode.fields
        if isinstance(f.kind, VECTOR)
    )


# ---- types


def _type(operand: Any) -> Type | None:
    if isinstance(operand, General | Indirect | Immediate):
        return operand.type
    return BOOL if isinstance(operand, PredicateOperand) else None


@cache
def type_rows(opcode: Opcode, platform: str, *, parity: bool) -> tuple[TypeRow, ...]:
    """The rows of a type map that hold on a platform: the front end's, or the documents'."""
    sides = (By.BOTH, By.FRONT_END if parity else By.DOCUMENTS)
    return tuple(r for r in opcode.types if platform in r.platforms and r.by in sides)


@cache
def emitted_rows(opcode: Opcode, platform: str, *, whole: bool) -> tuple[TypeRow, ...]:
    """What Intel's compiler uses against the documents.

    Where operands are `whole` numbers of at most 32 bits, that is all that its front end takes: the
    compiler picks their signs and sizes by what is at hand.
    """
    sides = (By.COMPILER, By.FRONT_END) if whole else (By.COMPILER,)
    return tuple(r for r in opcode.types if platform in r.platforms and r.by in sides)


def _are_whole(types: Iterable[Type | None]) -> bool:
    return all(t is None or t is BOOL or (t.is_int and t.bits <= 32) for t in types)


@cache
def typed_fields(opcode: Opcode) -> tuple[tuple[int, str, bool], ...]:
    """Index and name of the operands that a type map speaks of, and whether it is a destination."""
    return tuple(
        (f.index, f.name, isinstance(f.kind, DestinationKind))
        for f in opcode.fields
        if isinstance(f.kind, VECTOR)
    )


@rule(
    "types",
    "The execution units have no operation on these types.",
    on=On.INSTRUCTION,
    applies=is_typed,
)
def types(use: Use) -> Iterator[Finding]:
    operands = use.inst.operands
    actual = tuple(_type(operands[index]) for index, _, _ in typed_fields(use.opcode))
    key = (use.opcode, use.subject.platform.name, use.subject.parity, actual)
    if _fits_cached(*key):
        return
    rows = type_rows(use.opcode, use.subject.platform.name, parity=use.subject.parity)
    if any(_misfits(use, row) == [] for row in rows):  # an immediate may fit by its value
        return
    if _has_foreign(use):  # operand-class speaks of these
        return
    if use.subject.parity or not _is_emitted(use):
        yield _type_finding(use, rows)


def _is_emitted(use: Use) -> bool:
    types = (_type(use.inst.operands[index]) for index, _, _ in typed_fields(use.opcode))
    rows = emitted_rows(use.opcode, use.subject.platform.name, whole=_are_whole(types))
    return any(_misfits(use, row) == [] for row in rows)


@rule(
    "types-emitted",
    "The documents do not list these types; the hardware interprets the bits.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: any(row.by in (By.COMPILER, By.FRONT_END) for row in opcode.types),
)
def types_emitted(use: Use) -> Iterator[Finding]:
    operands = use.inst.operands
    actual = tuple(_type(operands[index]) for index, _, _ in typed_fields(use.opcode))
    here = use.subject.platform.name
    if not _fits_cached(use.opcode, here, False, actual) and _is_emitted(use):
        yield _type_finding(use, type_rows(use.opcode, here, parity=False))


@cache
def _fits_cached(
    opcode: Opcode, platform: str, parity: bool, actual: tuple[Type | None, ...]
) -> bool:
    fields = typed_fields(opcode)
    return any(
        all(
            type is None or type in row.allowed(name, is_dst=is_dst)
            for type, (_, name, is_dst) in zip(actual, fields, strict=True)
        )
        for row in type_rows(opcode, platform, parity=parity)
    )


def _misfits(use: Use, row: TypeRow) -> list[str]:
    """The operands that a row does not allow."""
    wrong = []
    for index, name, is_dst in typed_fields(use.opcode):
        operand = use.inst.operands[index]
        type, allowed = _type(operand), row.allowed(name, is_dst=is_dst)
        if type is None or type in allowed:
            continue
        if row.fitting and isinstance(operand, Immediate) and _value_fits(operand, allowed):
            continue
        wrong.append(name)
    return wrong


def _value_fits(operand: Immediate, allowed: frozenset[Type]) -> bool:
    type = operand.type
    if not type.is_int:
        return False
    value = operand.bits & ((1 << type.bits) - 1)
    if type.is_signed and value > type.maximum:
        value -= 1 << type.bits
    return any(t.is_int and t.minimum <= value <= t.maximum for t in allowed)


def _type_finding(use: Use, rows: tuple[TypeRow, ...]) -> Finding:
    """What is wrong by the row that fits best: a wrong destination counts more."""
    here = use.subject.platform.name
    if not rows:
        return Finding(f"{use.opcode} has no types on {here}")
    wrong = min((_misfits(use, row) for row in rows), key=lambda w: (_is_dst(use, w), len(w)))
    name = wrong[0]
    index, _, is_dst = next(f for f in typed_fields(use.opcode) if f[1] == name)
    best = [r for r in rows if _misfits(use, r)[0] == name and len(_misfits(use, r)) == len(wrong)]
    allowed = frozenset().union(*(r.allowed(name, is_dst=is_dst) for r in best))
    if is_dst:
        allowed = frozenset().union(*(r.allowed(name, is_dst=True) for r in rows))
    legal = listed(f":{t}" for t in TYPES.values() if t in allowed)
    dst = _type(use.operand("dst"))
    beside = f" beside a dst of :{dst}" if not is_dst and dst is not None else ""
    shown = _type(use.inst.operands[index])
    return Finding(f"{name} is :{shown}; {use.opcode}{beside} takes {legal} on {here}", name)


def _is_dst(use: Use, names: list[str]) -> bool:
    return any(is_dst for _, name, is_dst in typed_fields(use.opcode) if name in names)


@rule(
    "state-class",
    "Surfaces and samplers are numbered apart.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: "s" in opcode.limits.operands.get("dst", ""),
)
def state_class(use: Use) -> Iterator[str]:
    dst, source = use.operand("dst"), use.operand("src0")
    both = isinstance(dst, StateOperand) and isinstance(source, StateOperand)
    if both and dst.variable.category != source.variable.category:
        yield f"{use.opcode} copies between two surfaces or two samplers, not across"


@rule(
    "state-copy",
    "One side of the copy is the state of a surface or sampler.",
    on=On.INSTRUCTION,
    applies=lambda opcode: "s" in opcode.limits.operands.get("dst", ""),
)
def state_copy(use: Use) -> Iterator[str]:
    if not any(isinstance(use.operand(n), StateOperand) for n in ("dst", "src0")):
        yield f"{use.opcode} needs a surface or sampler on one side; mov copies elements"


@rule(
    "state-bounds",
    "An index beyond the variable belongs to another one.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=VECTOR,
    classes=(StateOperand,),
)
def state_bounds(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if isinstance(operand, StateOperand):
        end = operand.element + use.size
        if end > operand.variable.count:
            yield Finding(
                f"elements {operand.element} to {end - 1} of '{operand.variable.name}', which has"
                f" {operand.variable.count}",
                field.name,
            )


@rule(
    "address-of-predefined",
    "Predefined variables have no place in the register file.",
    on=On.OPERAND,
    kinds=(SourceKind,),
    page="ADDR_ADD",
    classes=(AddressOf,),
)
def address_of_predefined(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if isinstance(operand, AddressOf) and _is_fixed(operand.variable, parity=use.subject.parity):
        yield Finding(f"'{operand.variable.name}' has no address that can be taken", field.name)


def _is_fixed(declared: Declared, *, parity: bool) -> bool:
    """The documents except %arg and %retval, the front end does not."""
    if declared.predefined is None:
        return False
    return parity or declared.name not in ("%arg", "%retval")


# ---- modifiers and saturation


@rule(
    "modifier",
    "The encoding of the instruction has no such source modifier.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(SourceKind,),
    classes=(General, Indirect),
)
def modifier(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    written = getattr(operand, "modifier", "")
    if not written:
        return
    if use.subject.parity or written not in MODIFIERS[use.opcode.front_end.emitted_modifiers]:
        yield from _illegal_modifier(use, field, written)


@rule(
    "modifier-emitted",
    "The documents give the sources of the instruction no such modifier.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(SourceKind,),
    classes=(General, Indirect),
    applies=lambda opcode: bool(MODIFIERS[opcode.front_end.emitted_modifiers]),
)
def modifier_emitted(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    written = getattr(operand, "modifier", "")
    if written in MODIFIERS[use.opcode.front_end.emitted_modifiers]:
        yield from _illegal_modifier(use, field, written)


def _illegal_modifier(use: Use, field: Field, written: str) -> Iterator[Finding]:
    mode = use.opcode.limits.modifiers
    if use.subject.parity and use.opcode.front_end.modifiers is not None:
        mode = use.opcode.front_end.modifiers
    legal = MODIFIERS[mode]
    if written not in legal:
        shown = f"takes {listed(f'({m})' for m in legal)}" if legal else "takes no source modifier"
        yield Finding(f"modifier ({written}); {use.opcode} {shown}", field.name)


@rule(
    "saturation-emitted",
    "The documents give the instruction no saturation.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: opcode.front_end.emits_saturation,
)
def saturation_emitted(use: Use) -> Iterator[str]:
    if use.operand("dst").saturate:
        yield f"{use.opcode} does not saturate"


@rule(
    "saturation",
    "The result of the instruction has no range to be clamped to.",
    on=On.INSTRUCTION,
    applies=lambda opcode: any(p.part == "sat" for p in opcode.pieces),
)
def saturation(use: Use) -> Iterator[str]:
    dst = use.operand("dst")
    if not dst.saturate:
        return
    mode = use.opcode.limits.saturation
    if use.subject.parity and use.opcode.front_end.saturation is not None:
        mode = use.opcode.front_end.saturation
    type = _type(dst)
    if mode == "no" and (use.subject.parity or not use.opcode.front_end.emits_saturation):
        yield f"{use.opcode} does not saturate"
    elif mode == "float" and type is not None and not type.is_float:
        yield f"{use.opcode} saturates floats only; its dst is :{type}"
