"""Instructions that eumu does not model are unchecked; Intel's front end reads none of them."""

from __future__ import annotations

import pytest

from eumu.errors import Severity
from eumu.isa.visa import VISA
from eumu.platforms import platform
from eumu.verify import check_text

TEXT = """.version 4.1
.kernel "k"
main:
    {}
    ret (M1_NM, 1)
"""


def severities(line: str, device: str, *, parity: bool) -> list[Severity]:
    found = check_text(TEXT.format(line), "k.visaasm", platform(device), parity=parity)
    assert all(d.span is not None and d.span.line == 4 for d in found)
    return [d.severity for d in found]


@pytest.mark.parametrize("word", VISA.unmodelled)
@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_it_is_a_warning_and_an_error_to_the_front_end(word: str, device: str) -> None:
    assert severities(f"{word} x y z", device, parity=False) == [Severity.WARNING]
    assert severities(f"{word} x y z", device, parity=True) == [Severity.ERROR]


@pytest.mark.parametrize("word", VISA.unmodelled)
def test_it_is_not_modelled(word: str) -> None:
    assert not VISA.find(word)


def test_a_word_that_nobody_knows_is_an_error() -> None:
    assert severities("saxpy (M1, 16) x y", "skl", parity=False) == [Severity.ERROR]
