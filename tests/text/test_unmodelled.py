"""Documented instructions without a row are `Unsupported`, not unknown."""

from __future__ import annotations

import pytest

from eumu.errors import BuildError, Unsupported
from eumu.isa.visa import VISA
from eumu.isa.visa.registry import NO_TOKENS
from eumu.text import parse
from text.corpus import program
from text.oracle import rejected

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


@pytest.mark.parametrize("word", sorted(NO_TOKENS))
def test_a_word_that_intel_has_no_token_for_is_a_name(word: str, genx_ir: str) -> None:
    lines = f".decl {word} v_type=G type=d num_elts=16", f"mov (M1, 16) {word}(0,0)<1> 0x1:d"
    source = program(*lines)
    inst = parse(source).kernels[0].instructions[0]
    assert inst.operand("dst").variable.name == word
    assert not rejected(genx_ir, source, "SKL")
