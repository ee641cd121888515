"""Every variable of the environment is in the one table of docs/running.md."""

from __future__ import annotations

import re
from pathlib import Path

import eumu

ROOT = Path(__file__).resolve().parents[1]


def test_the_table_has_every_variable() -> None:
    texts = [p.read_text() for p in Path(eumu.__file__).parent.rglob("*.py")]
    used = set(re.findall(r"\bEUMU_[A-Z0-9]+(?:_[A-Z0-9]+)*\b", "\n".join(texts)))
    rows = (ROOT / "docs" / "running.md").read_text()
    assert set(re.findall(r"^\| `(EUMU_\w+)` \|", rows, re.MULTILINE)) == used
