"""The registry against what the documents say: numbers, names, order of operands, platforms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eumu.cli.isa import name, table
from eumu.isa.kinds import control, matrix, raw, vector
from eumu.isa.limits import since
from eumu.isa.spec import Kind, Opcode
from eumu.isa.visa import VISA
from eumu.isa.visa.sync import ParticipantsKind

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
)


def order(opcode: Opcode) -> str:
    """The operands of the object file by letter; an execution size within another byte is none."""
    found = ""
    for slot in opcode.slots or ():
        if slot.field is not None and slot.code not in ("elements", "count"):
            kind = slot.field.kind
            found += next((letter for types, letter in LETTERS if isinstance(kind, types)), "")
    return found


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
    assert fact["name"] in {o.mnemonic for o in found} | {name(o) for o in found}
    for opcode in found:
        if "operands" in fact:
            assert order(opcode) == fact["operands"], opcode
        if "since" in fact:
            assert opcode.platforms is not None
            assert opcode.platforms <= since(fact["since"]), opcode


def test_every_number_is_documented() -> None:
    numbers = {int(fact["opcode"], 16) for fact in FACTS}
    assert {o.number for o in VISA} <= numbers


def test_an_instruction_that_does_nothing_here_says_why() -> None:
    for row in table():
        assert row.fidelity in ("exact", "ulp", "approximate", "unsupported"), row
        assert row.fidelity == "exact" or row.detail, row
        assert row.opcode is None or row.platforms, row


def test_names_are_unique() -> None:
    names = [(name(o), o.sub) for o in VISA]
    assert len(set(names)) == len(names)
