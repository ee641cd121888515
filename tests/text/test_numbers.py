"""Numbers of any length, wherever one can stand in a text, are read or refused with a place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eumu import native
from eumu.errors import BuildError
from eumu.text import parse

TESTS = Path(__file__).parents[1]
VISA = sorted([*TESTS.glob("runs/*.visa"), *TESTS.glob("verifier/*.ok.visa")])
NATIVE = sorted(TESTS.glob("native/listings/*.asm"))
_NUMBER = re.compile(r"(?<![\w.])\d+|(?<=[a-z.&(])\d+")


def forms(files: list[Path]) -> Iterator[tuple[str, int]]:
    """A text, and where a number begins in it, once for each form of line that has one there."""
    seen = set()
    for path in files:
        text = path.read_text()
        for line in re.finditer(r"[^\n]+", text):
            for found in _NUMBER.finditer(line[0].partition("//")[0]):
                before = re.sub(r"\d+", "0", line[0][: found.start()])
                if (form := (before, re.sub(r"\d+", "0", line[0]))) not in seen:
                    seen.add(form)
                    yield text, line.start() + found.start()


@pytest.mark.parametrize("number", ["9" * 5000, "08"], ids=len)
@pytest.mark.parametrize(
    ("files", "read", "least"),
    [(VISA, parse, 1500), (NATIVE, native.parse, 150)],
    ids=["vISA", "native"],
)
def test_texts(
    files: list[Path], read: Callable[[str, str], object], least: int, number: str
) -> None:
    count = 0
    for text, at in forms(files):
        count += 1
        try:
            read(text[:at] + number + text[at:].lstrip("0123456789"), "k")
        except BuildError as error:
            assert all(d.span for d in error.diagnostics)
    assert count > least
