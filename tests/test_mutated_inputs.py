"""A part of the inputs of tests/mutated_inputs.py."""

from __future__ import annotations

import mutated_inputs


def test_damaged_inputs_give_typed_errors() -> None:
    made = list(mutated_inputs.attempts(0, 2500))
    assert not [wrong for _, wrong in made if wrong]
    assert {name for name, _ in made} == set(mutated_inputs.READERS)
