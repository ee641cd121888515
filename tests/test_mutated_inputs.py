"""A part of the inputs of tests/mutated_inputs.py, mutated_records.py, mutated_command_lines.py."""

from __future__ import annotations

import sys

import pytest

import mutated_command_lines
import mutated_inputs
import mutated_records


def test_damaged_inputs_give_typed_errors() -> None:
    made = [*mutated_inputs.attempts(0, 2500), *mutated_inputs.attempts(920039, 1)]
    assert not [wrong for _, wrong in made if wrong]
    assert {name for name, _ in made} == set(mutated_inputs.READERS)


@pytest.mark.skipif(sys.platform != "linux", reason="the drivers are Linux's")
def test_damaged_records_of_drivers_give_typed_errors() -> None:
    made = [*mutated_inputs.attempts(0, 400, mutated_records.READERS)]
    assert not [wrong for _, wrong in made if wrong]
    assert {name for name, _ in made} == set(mutated_records.READERS)


def test_damaged_command_lines_are_answered_in_words() -> None:
    made = mutated_inputs.attempts(0, 300, mutated_command_lines.READERS)
    assert not [wrong for _, wrong in made if wrong]


def test_every_option_is_known() -> None:
    known = mutated_command_lines.parsers().values()
    actions = [a for parser in known for a in parser._actions if a.nargs != 0 and not a.choices]
    assert {a.dest for a in actions} <= set(mutated_command_lines.VALUES)
