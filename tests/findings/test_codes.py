"""Every code of a finding has a row in the documentation, and an example there that runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from eumu.errors import InternalError
from eumu.exec import blame
from eumu.findings import CODES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "checking.md").read_text()
TABLE = PAGE.partition("| code | what happened |")[2].partition("\n\n")[0]
# Words in what a console example shows, of codes that no other example names.
SHOWN = {
    "array-index": "index 2 is outside of array 'b'",
    "undefined": "undefined stored data",
    "division-by-zero": "division of integers by zero",
    "misaligned": "misaligned load",
}


def examples() -> str:
    """All that the page's examples, which tests/test_docs.py runs, say."""
    return "\n".join(re.findall(r"```(?:python|console)\n(.*?)```", PAGE, re.DOTALL))


def test_the_table_has_all_codes() -> None:
    told = [
        c
        for row in TABLE.split("\n")
        for c in re.findall(r"`([a-z-]+)`", row.split("|")[1:2][0] if row else "")
    ]
    assert sorted(told) == sorted(CODES)


@pytest.mark.parametrize("code", sorted(CODES))
def test_each_code_has_an_example(code: str) -> None:
    text = examples()
    assert f'"{code}"' in text or f"title=eumu {code}::" in text or SHOWN.get(code, "\0") in text


def test_no_code_is_made_that_the_table_lacks() -> None:
    """Codes that stand in the engines and in the runtime, as arguments or in tables."""
    made: set[str] = set()
    for room in ("exec", "runtime"):
        for path in sorted((ROOT / "src" / "eumu" / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    given = [k.value for k in node.keywords if k.arg == "code"]
                    given += node.args[:1] if name in ("Finding", "_Wrong") else []
                    made |= {x.value for x in given if isinstance(x, ast.Constant)}
    assert {"leak", "printf-overflow", "array-index", "call-depth", "trap"} <= made
    assert made - {"origin"} <= CODES.keys()


def test_a_record_of_no_known_code_is_an_error_of_eumu() -> None:
    with pytest.raises(InternalError, match="no code"):
        blame.record(None, "nonsense", "", -1, 0, 0)  # type: ignore[arg-type]
