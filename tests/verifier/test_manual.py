"""`docs/rules.md` is what the rules say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from eumu.verify import BROKEN_BY_THE_COMPILER, RULES
from eumu.verify.manual import rules_page

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_command_writes_it(tmp_path: Path) -> None:
    page = tmp_path / "rules.md"
    subprocess.run([sys.executable, "-m", "eumu.verify", str(page)], check=True)
    assert page.read_text() == rules_page()


def test_every_rule_stands_there_once() -> None:
    page = rules_page()
    assert all(page.count(f"\n| `{code}` |") == 1 for code in RULES)
    assert all(f"| {does} |" in page for does in BROKEN_BY_THE_COMPILER.values())
