"""Rules of the hardware: an instruction that breaks each, and its legal neighbour."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eumu import native
from eumu.errors import Severity
from eumu.native.rules import RULES
from native.samples import HERE, kernel_files, native_sections

Case = tuple[str, str, str, frozenset[str]]
# Rules that only allow something, or that no instruction can break.
PERMISSIONS = {"2.3", "7.3", "8.1"}
# The rule about targets looks at the whole code, not at one instruction.
WHOLE = {"G.target"}
# Text names elements, so only a word breaks this rule.
WORDS = {"G.element"}


def _cases() -> list[Case]:
    """Rule, platform, text, and the rules that are expected to be broken."""
    cases, heading = [], ""
    for line in (HERE / "rules.txt").read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif found := re.match(r"(bad|good) +(skl )?([^+]*)(?:\+(.*))?$", line):
            kind, platform, text, others = found.groups()
            expected = {heading, *(others or "").split()} if kind == "bad" else set()
            lines = text.strip().replace(" / ", "\n")
            cases.append((heading, (platform or "bxt").strip(), lines, frozenset(expected)))
    return cases


CASES = _cases()


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}: {c[2]}" for c in CASES])
def test_rule(case: Case) -> None:
    _, platform, text, expected = case
    program = native.parse(text, platform=platform)
    findings = native.check(native.encode(program), platform)
    assert {f.code for f in findings} == expected, [str(f) for f in findings]
    for finding in findings:
        assert finding.span is not None and ";" in finding.message
        assert finding.message.split(":")[0] in _operands(program)


def _operands(program: native.Program) -> set[str]:
    return {field.name for i in program.instructions for field in i.opcode.fields}


def test_every_rule_has_both_neighbours() -> None:
    bad = {case[0] for case in CASES if case[3]}
    good = {case[0] for case in CASES if not case[3]}
    assert bad == set(RULES) - WORDS | WHOLE
    assert good == set(RULES) - WORDS | WHOLE | PERMISSIONS


@pytest.mark.parametrize(("bit", "operand"), [(48, "dst"), (65, "src0"), (97, "src1")])
def test_a_subregister_is_a_whole_element(bit: int, operand: str) -> None:
    program = native.parse("add (1|M0) r10.0<1>:d r11.0<0;1,0>:d r12.0<0;1,0>:d")
    word = int.from_bytes(native.encode(program), "little")
    assert not native.check(word.to_bytes(16, "little"))
    (finding,) = native.check((word ^ 1 << bit).to_bytes(16, "little"))
    assert finding.code == "G.element" and finding.message.startswith(operand)


def test_findings_say_where_and_why() -> None:
    program = native.parse("add (4|M0) r10.0<1>:d r11.0<8;8,1>:d 1:w\nnop")
    (finding,) = native.check(native.encode(program), name="k.dat")
    assert str(finding).splitlines() == [
        "k.dat+0x0:1:44: error: src0: width 8 is over the execution size; at most 4",
        "  add (4|M0)               r10.0<1>:d        r11.0<8;8,1>:d    1:w",
        "                                             ^^^^^^^^^^^^^^",
        "  note: rule 2.1: the execution size is at least the width",
    ]


def test_doubtful_things_are_warnings() -> None:
    program = native.parse("add (16|M0) r10.0<1>:hf acc1.0<16;16,1>:hf 1.0:hf")
    (finding,) = native.check(native.encode(program))
    assert finding.severity is Severity.WARNING


def test_words_that_are_no_instructions_are_findings() -> None:
    data = (0x0B).to_bytes(16, "little") + bytes(16) + b"\x01"
    assert [f.code for f in native.check(data)] == ["encoding", "encoding"]


def test_the_observed_profile_allows_more() -> None:
    for text in (
        "add (16|M0) r10.0<4>:b r12.0<4;1,0>:b r14.0<4;1,0>:b",
        "add (16|M16) r2.0<1>:d r6.0<0;1,0>:d r2.0<16;16,1>:uw",
        "add (2|M0) r15.0<4>:q r3.0<4;1,4>:q r13.0<4;1,4>:q",
        "add (2|M0) r123.0<1>:ud r124.4<0;1,0>:uw 0x400:uv",
    ):
        data = native.encode(native.parse(text))
        assert native.check(data) and not native.check(data, profile="observed")


KERNELS = [(platform, path) for platform in ("apl", "skl") for path in kernel_files(platform)]


@pytest.mark.parametrize(
    ("platform", "path"),
    [pytest.param(*k, marks=pytest.mark.slow if i % 4 else ()) for i, k in enumerate(KERNELS)],
    ids=[f"{platform}-{path.stem}" for platform, path in KERNELS],
)
def test_compiled_kernels_have_no_findings(platform: str, path: Path) -> None:
    for name, data in native_sections(path):
        findings = native.check(data, platform, "observed", name)
        assert not findings, "\n".join(map(str, findings))
