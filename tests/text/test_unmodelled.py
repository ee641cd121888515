"""Documented instructions without a row are `Unsupported`, not unknown."""

from __future__ import annotations

import pytest

from eumu.errors import BuildError, Unsupported
from eumu.isa.visa import VISA
from eumu.text import parse

HEAD = '.version 4.1\n.kernel "k"\n.decl V v_type=G type=d num_elts=16\n'


def test_a_documented_instruction_says_why_it_is_not_there() -> None:
    word, reason = next(iter((w, r) for w, r in VISA.unmodelled.items() if not VISA.find(w)))
    with pytest.raises(Unsupported, match=reason) as caught:
        parse(f"{HEAD}    {word} (M1, 16) V.0\n")
    assert caught.value.span is not None and caught.value.span.line == 4


def test_other_errors_come_first() -> None:
    word = next(w for w in VISA.unmodelled if not VISA.find(w))
    with pytest.raises(BuildError, match="unknown instruction 'nonsense'"):
        parse(f"{HEAD}    {word} (M1, 16) V.0\n    nonsense (M1, 16) V.0\n")
