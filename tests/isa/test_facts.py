"""The registry against what the documents say: numbers, names, order of operands, platforms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eumu.cli.isa import name, table
from eumu.isa.kinds import control, lsc_block2d, matrix, raw, sampler, vector
from eumu.isa.kinds.kind import Kind
from eumu.isa.limits import EVERY_PLATFORM, By, since
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.isa.visa.sync import ParticipantsKind
from eumu.types import Kind as TypeKind

FACTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("facts.json").read_text())[
    "instructions"
]
LETTERS: tuple[tuple[type[Kind] | tuple[type[Kind], ...], str], ...] = (
    (control.ExecKind, "X"),
    (control.PredicateKind, "P"),
    (vector.DestinationKind, "D"),
    ((vector.SourceKind, matrix.MatrixPlaceKind, ParticipantsKind), "S"),
    (raw.RawKind, "R"),
    (control.LabelKind, "L"),
    (sampler.ParametersKind, "*"),
)
# What stands apart in the object file, by the name that its kind gives it.
PARTS = {
    **dict.fromkeys(("register", "base", "u", "v", "r", "lod", "header"), "R"),
    **dict.fromkeys(("surface", "pitch"), "S"),
    **dict.fromkeys(("scalars", "registers", "index"), "*"),
}
NOTHING = bytes(6)  # a raw operand that is always null
MATRIX = ("base", "width", "height", "pitch", "x", "y")


def order(opcode: Opcode) -> str:
    """The operands of the object file by letter; an execution size within another byte is none."""
    found = ""
    for slot in opcode.slots or ():
        if slot.constant == NOTHING:
            found += "R"
        elif slot.above == (4, 1):
            continue  # the documents are of version 4.1
        elif slot.field is not None and slot.code not in ("elements", "count"):
            found += _letter(slot.field.kind, slot.code)
    return found


def _letter(kind: Kind, code: str) -> str:
    if code and not isinstance(kind, LISTED):
        return PARTS.get(code, "")
    if isinstance(kind, lsc_block2d.MatrixKind):
        return "S" * len(MATRIX)
    return next((letter for types, letter in LETTERS if isinstance(kind, types)), "")


def types(opcode: Opcode) -> list[str]:
    """The types that the documents name, in the order of their table."""
    found = {
        type.name
        for row in opcode.types
        if row.by in (By.BOTH, By.DOCUMENTS)
        for side in (row.dst, row.src, *(types for _, types in row.fields))
        for type in side
        if type.kind is not TypeKind.PACKED
    }
    return [name for name in NAMES if name in found]


# The order of the facts.
NAMES = ("ub", "b", "uw", "w", "ud", "d", "uq", "q", "hf", "bf", "f", "df", "bool")
LISTED = (control.LabelsKind,)


def label(fact: dict[str, Any]) -> str:
    return f"{fact['opcode']}.{fact.get('sub', '')}-{fact['name']}"


def declared(fact: dict[str, Any]) -> list[Opcode]:
    sub = int(fact["sub"], 16) if "sub" in fact else None
    number = int(fact["opcode"], 16)
    return [o for o in VISA if o.number == number and (sub is None or o.sub == sub)]


@pytest.mark.parametrize("fact", FACTS, ids=label)
def test_an_instruction_is_what_the_documents_say(fact: dict[str, Any]) -> None:
    found = declared(fact)
    if not found:
        assert fact["name"] in VISA.unmodelled, f"{label(fact)} is neither declared nor named"
        return
    names = {o.mnemonic for o in found} | {name(o) for o in found}
    if fact["name"] not in names:
        words = f"number {fact['opcode']} is that of {fact['name']}, says tests/isa/facts.json"
        pytest.fail(f"{words}; {', '.join(sorted(names))} needs another", pytrace=False)
    for opcode in found:
        if "operands" in fact:
            assert order(opcode) == fact["operands"], opcode
        if "types" in fact:
            assert types(opcode) == fact["types"].split(), opcode
        assert opcode.platforms == documented(fact), opcode


def documented(fact: dict[str, Any]) -> frozenset[str] | None:
    """The platforms from the first to the last that a fact names, without `missing` ones."""
    if not {"since", "until", "missing"} & set(fact):
        return None
    found = since(fact["since"]) if "since" in fact else EVERY_PLATFORM
    if "until" in fact:
        found -= since(fact["until"]) - {fact["until"]}
    return found - frozenset(fact.get("missing", "").split())


def test_every_fact_says_what_its_operands_are() -> None:
    """But those of documents that have no object file."""
    silent = [label(fact) for fact in FACTS if "operands" not in fact]
    assert silent == [
        *("89.28-lsc_apndctr_atomic_add", "89.29-lsc_apndctr_atomic_sub"),
        *("8a.03-lsc_load_block2d", "8a.07-lsc_store_block2d"),
    ]


def test_an_instruction_that_does_nothing_here_says_why() -> None:
    for row in table():
        assert row.fidelity in ("exact", "ulp", "approximate", "unsupported"), row
        assert row.fidelity == "exact" or row.detail, row
        assert row.opcode is None or row.platforms, row


def test_names_are_unique() -> None:
    names = [(name(o), o.sub) for o in VISA]
    assert len(set(names)) == len(names)
