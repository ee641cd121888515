"""Instructions that eumu does not model are unchecked, and where Intel's front end reads them."""

from __future__ import annotations

import pytest

from eumu.errors import Severity
from eumu.isa.limits import EVERY_PLATFORM
from eumu.isa.visa import VISA
from eumu.platforms import platform
from eumu.verify import check_text
from eumu.verify.unmodelled import READ

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


WORDS = [word for word in VISA.unmodelled if not VISA.find(word)]


@pytest.mark.parametrize("word", WORDS)
def test_it_is_a_warning(word: str) -> None:
    device = sorted(READ.get(word, {"skl"}))[0]
    assert severities(f"{word} x y z", device, parity=False) == [Severity.WARNING]


@pytest.mark.parametrize("word", [word for word in WORDS if word in READ])
def test_parity_where_the_front_end_reads_it(word: str) -> None:
    for device in ("skl", "dg2", "pvc"):
        expected = Severity.NOTE if device in READ[word] else Severity.ERROR
        assert severities(f"{word} x y z", device, parity=True) == [expected]


@pytest.mark.parametrize("word", [word for word in WORDS if word not in READ])
def test_parity_where_the_front_end_reads_it_nowhere(word: str) -> None:
    assert severities(f"{word} x y z", "pvc", parity=True) == [Severity.ERROR]


@pytest.mark.parametrize("word", [w for w in WORDS if READ.get(w, EVERY_PLATFORM) < EVERY_PLATFORM])
def test_a_device_without_the_instruction(word: str) -> None:
    for device in EVERY_PLATFORM - READ[word]:
        assert severities(f"{word} (M1_NM, 16) x y", device, parity=False) == [Severity.ERROR]


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("sample.RGBA (8) S V.0 V.0 V.0 V.0", Severity.NOTE),
        ("sample.RGBA (8) T S V.0 V.0 V.0 V.0", Severity.ERROR),
        ("rt_write_3d (M1, 16) T V.0 V.0 V.0 V.0 V.0", Severity.NOTE),
        ("rt_write_3d (M1, 16) T V.0 V.0 V.0 V.0", Severity.ERROR),
    ],
)
def test_what_the_front_end_reads_and_refuses(line: str, verdict: Severity) -> None:
    if VISA.find(line.split(".")[0].split()[0]):
        pytest.skip("it is modelled, and its declaration says what operands it takes")
    declared = ".decl S v_type=S num_elts=1\n.decl T v_type=T num_elts=1\nmain:"
    text = TEXT.replace("main:", declared)
    found = check_text(text.format(line), "k.visaasm", platform("skl"), parity=True)
    assert [d.severity for d in found] == [verdict]


def test_a_word_that_nobody_knows_is_an_error() -> None:
    assert severities("saxpy (M1, 16) x y", "skl", parity=False) == [Severity.ERROR]
