"""Programs come from elsewhere: what they say must not control the terminal of who reads it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

import eumu
from eumu.cli.main import main
from eumu.errors import EumuError, Fault, Finding

ESCAPE = "\x1b]0;title\x07\x1b[31m"
WRONG = f'.version 4.1\n.kernel "k"\nfoo{ESCAPE}\x7f\x9b (M1, 16) X\n  ret (M1, 1)\n'
NAMED = f'.version 4.1\n.kernel "k{ESCAPE}"\n  ret (M1, 1)\n'


def controls(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) == "Cc"} - {"\n", "\t"}


@pytest.mark.parametrize("words", [("check",), ("info",), ("run", "--global", "16"), ("fmt",)])
@pytest.mark.parametrize("text", [WRONG, NAMED], ids=["text", "name"])
def test_what_people_are_told(
    words: tuple[str, ...], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.visaasm"
    file.write_text(text)
    main([words[0], str(file), *words[1:]])
    said = capsys.readouterr()
    assert said.out + said.err
    assert not controls(said.err)
    if words != ("fmt",):  # which gives the text as it is
        assert not controls(said.out)


def test_errors_and_findings() -> None:
    with pytest.raises(EumuError) as raised:
        eumu.load(WRONG.encode(), device="skl")
    assert "␛]0;title␇" in str(raised.value) and not controls(str(raised.value))
    for told in (Fault(f"why {ESCAPE}", kernel=f"k{ESCAPE}"), Finding("fault", ESCAPE)):
        assert not controls(str(told))
