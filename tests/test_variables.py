"""Every variable of the environment is in the one table, which docs/running.md shows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import eumu
from eumu.settings import SETTINGS

NAMES = {setting.name for setting in SETTINGS}
FILES = [p for p in Path(eumu.__file__).parent.rglob("*") if p.suffix in (".py", ".c", ".h")]


def test_the_table_has_every_variable() -> None:
    texts = "\n".join(p.read_text() for p in FILES)
    assert set(re.findall(r"\bEUMU_[A-Z0-9]+(?:_[A-Z0-9]+)*\b", texts)) == NAMES


def test_a_name_is_a_value_in_the_table_only() -> None:
    """Whoever needs one asks `eumu.settings`, and so it is in the table."""
    for path in FILES:
        if path.suffix == ".py" and path.name != "settings.py":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert node.value not in NAMES, f"{path}:{node.lineno}"
