"""What an instruction, a rule or an operation needs besides its declaration; see docs/extending.md.

A failure is one line for each thing that is missing, with the file where it belongs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import conformance
import coverage_of_opcodes as coverage
import public_names
from eumu.exec.interp.lanes import is_lanewise
from eumu.exec.interp.memory import ACCESSES
from eumu.exec.interp.site import STEPS
from eumu.exec.jit.codegen.elementwise import SHAPE_OPS
from eumu.exec.jit.codegen.floats import FLOAT_OPS
from eumu.exec.jit.codegen.integers import INTEGER_OPS
from eumu.exec.jit.codegen.kernel import LOWERINGS
from eumu.fuzz.vocabulary import is_executed, is_vector, name, signatures
from eumu.ir.operations.row import OPERATIONS
from eumu.isa.gen9 import GEN9
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.native.rules import RULES as NATIVE_RULES
from eumu.platforms import PLATFORMS
from eumu.types import BOOL, Kind
from eumu.verify import RULES
from eumu.verify.manual import rules_page
from isa.test_facts import FACTS, declared
from mutate_lowerings import MUTANTS
from oracle.meanings import FLOATS, INTEGERS, PAIRS
from oracle.test_pairwise import WITHOUT_ORACLE

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"
# What the oracle has outside of its tables.
_EITHER = {"cmp", "sel", "mov", *WITHOUT_ORACLE}


def fail(lines: list[str]) -> None:
    if lines:
        pytest.fail("\n".join(["", *lines]), pytrace=False)


def _declared(opcode: Opcode) -> str:
    """Where an instruction is declared: file:line, from the root of the repository."""
    path = Path(inspect.getsourcefile(opcode.body) or "")
    line = inspect.getsourcelines(opcode.body)[1]
    return f"{path.relative_to(TESTS.parent)}:{line}"


def wanting(opcode: Opcode) -> Iterator[str]:
    """What a vISA instruction lacks: `file: what`."""
    word = name(opcode)
    if is_executed(opcode) and is_vector(opcode) and opcode not in coverage.in_run_files():
        yield f"tests/runs/alu/{opcode.mnemonic}.visa: no run file has {word}"
    elif is_executed(opcode) and not coverage.is_run(opcode):
        yield f"tests/runs/…/{opcode.mnemonic}.visa: nothing runs {word} on both engines"
    if is_executed(opcode) and not coverage.is_written(opcode):
        yield f"tests/corpus/lines.txt: no line of {word} is read and printed"
    if opcode.page and opcode not in _described():  # on no page, no document says anything
        yield f"tests/isa/facts.json: what the documents say of {opcode.number:02x}, {word}"
    if is_executed(opcode) and is_vector(opcode) and opcode.fidelity.level == "exact":
        for table in sorted(_tables(opcode)):
            yield f"tests/oracle/meanings.py: {table} has no meaning of {word}"


@cache
def _described() -> frozenset[Opcode]:
    """The instructions that the documents' facts are about."""
    return frozenset(opcode for fact in FACTS for opcode in declared(fact))


def _tables(opcode: Opcode) -> set[str]:
    """The tables of the oracle that should know an instruction and do not."""
    if name(opcode) in _EITHER:
        return set()
    devices = [p for p in PLATFORMS if opcode.platforms is None or p in opcode.platforms]
    firsts = {s.sources[0] for s in signatures(opcode, devices[-1]) if s.sources}
    firsts = {t for t in firsts if t.kind is not Kind.PACKED}
    wanted = {"FLOATS" if t is not BOOL and t.is_float else "INTEGERS" for t in firsts}
    known = {"FLOATS": FLOATS, "INTEGERS": INTEGERS | PAIRS}
    return {table for table in wanted if name(opcode) not in known[table]}


def test_instructions() -> None:
    fail([f"{_declared(o)}: {o}: {line}" for o in VISA for line in wanting(o)])


def test_native_instructions() -> None:
    known = "".join(p.read_text() for p in (TESTS / "native").glob("*.txt"))
    file = {True: "branches.txt", False: "words.txt"}
    missing = [o for o in GEN9 if not re.search(rf"\b{re.escape(name(o))}\b", known)]
    fail([f"{_declared(o)}: {o}: tests/native/{file[o.flow]}: no {name(o)}" for o in missing])


def test_rules() -> None:
    files = [f"{code}{suffix}.visa" for code in RULES for suffix in ("", ".ok")]
    lines = [f"tests/verifier/{f}: no such file" for f in files if not _is_there(f)]
    if rules_page() != (TESTS.parent / "docs" / "rules.md").read_text():
        lines.append("docs/rules.md: out of date; python -m eumu.verify docs/rules.md")
    fail(lines)


def _is_there(name: str) -> bool:
    return (TESTS / "verifier" / name).exists()


def test_native_rules() -> None:
    headings = (TESTS / "native" / "rules.txt").read_text().splitlines()
    missing = [id for id in NATIVE_RULES if f"## {id}" not in headings and id != "G.element"]
    fail([f"tests/native/rules.txt: no `## {id}` with bad and good lines" for id in missing])


def test_operations() -> None:
    import_module("eumu.exec.jit.driver.module")  # every family of operations registers itself
    interp = {*STEPS, *ACCESSES, *(op for op in OPERATIONS if is_lanewise(op))}
    jit = {*LOWERINGS, *INTEGER_OPS, *FLOAT_OPS, *SHAPE_OPS, "read", "write", "select"}
    lines = [
        f"src/eumu/exec/interp: no function does {op}" for op in OPERATIONS if op not in interp
    ]
    lines += [f"src/eumu/exec/jit: no function does {op}" for op in OPERATIONS if op not in jit]
    fail(lines)


def test_table_of_conformance() -> None:
    if conformance.TARGET.read_text() != conformance.document():
        fail(["docs/conformance.md: out of date; python tests/conformance.py"])


def test_page_of_public_names() -> None:
    if public_names.TARGET.read_text() != public_names.document():
        fail(["docs/api.md: out of date; python tests/public_names.py"])
    silent = [row for row in public_names.document().splitlines() if row.endswith("|  |")]
    fail([f"{row}: no docstring" for row in silent])


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "in_run_files", frozenset)
    (add,) = VISA.find("add")
    assert list(wanting(add)) == ["tests/runs/alu/add.visa: no run file has add"]


def test_mutants_are_of_the_code_as_it_is() -> None:
    engine = SOURCE / "eumu" / "exec" / "jit"
    stale = [m for m in MUTANTS if (engine / m.file).read_text().count(m.old) != 1]
    fail([f"tests/mutate_lowerings.py: '{m.what}': {m.file} has no such line" for m in stale])
