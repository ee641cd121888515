"""Families of instructions are declared when a word asks for them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from eumu.errors import InternalError
from eumu.isa.spec import Registry
from eumu.isa.visa import VISA
from eumu.isa.visa.contents import FAMILIES

_ASK = """
import sys
from eumu.isa.visa import VISA

def declared():
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith("eumu.isa.visa.")}

assert not declared() & {"arith", "media"}
assert VISA.find("add") and "arith" in declared() and "media" not in declared()
assert not VISA.find("V0032") and "media" not in declared()
assert VISA.find("vme_ime") and "media" in declared() and "matrix" not in declared()
assert VISA.by_number(0x01) is not None
assert [str(o) for o in VISA.documented("PLN")] == ["plane"] and "matrix" in declared()
"""


def test_a_word_declares_its_family_only() -> None:
    subprocess.run([sys.executable, "-c", _ASK], check=True)


def test_rows_name_what_families_declare() -> None:
    found: dict[str, set[str]] = {}
    for opcode in VISA:
        found.setdefault(opcode.body.__module__.rpartition(".")[2], set()).add(opcode.mnemonic)
    assert {name: set(words.split()) for name, words in FAMILIES.items()} == found


_FAMILY = '''
from families_of_a_test import REGISTRY

@REGISTRY.opcode(1, "one", page="ONE")
def one(b):
    """Nothing."""

if TRIED.pop():
    raise KeyboardInterrupt

@REGISTRY.opcode(2, "{name}", page="TWO")
def two(b):
    """Nothing."""
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("families_of_a_test", "family_of_a_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def _registry(place: Path, second: str) -> Registry:
    (place / "families_of_a_test.py").write_text(
        "from eumu.isa.spec import Registry\n"
        'REGISTRY = Registry("test", "a manual", families={"family_of_a_test": ["one", "two"]})\n'
    )
    text = _FAMILY.replace("{name}", second).replace("TRIED", "REGISTRY.tried")
    (place / "family_of_a_test.py").write_text(text)
    registry = import_module("families_of_a_test").REGISTRY
    assert isinstance(registry, Registry)
    return registry


def test_a_family_that_was_interrupted_is_declared_again(place: Path) -> None:
    registry = _registry(place, "two")
    registry.tried = [False, True]  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        registry.find("two")
    assert [str(o) for o in registry.find("two")] == ["two"]
    assert [str(o) for o in registry.find("one")] == ["one"]
    assert len(registry) == 2


def test_what_no_row_names_is_refused(place: Path) -> None:
    registry = _registry(place, "three")
    registry.tried = [False]  # type: ignore[attr-defined]
    with pytest.raises(
        InternalError, match=r"declares three; add that name to the row of family_of_a_test"
    ):
        registry.find("two")
