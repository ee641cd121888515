"""`eumu check`: its forms, its exit status, and what it reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import eumu
from eumu import binary, text
from eumu.cli import main
from eumu.errors import Severity
from findings.test_formats import fits

Captured = pytest.CaptureFixture[str]
HERE = Path(__file__).parent

WRONG = """\
.version 4.1
.kernel "k"
.decl V v_type=G type=d num_elts=8 align=GRF
.input V offset=64 size=32
.decl F v_type=G type=f num_elts=8 align=GRF
main:
    add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> F(0,0)<1;1,0>
    lsc_store.ugm (M1_NM, 1) flat[V]:a32 V:d32x8t
    ret (M1, 1)
"""
# The documents forbid it and Intel's front end accepts it.
STRICT = WRONG.replace("F(0,0)<1;1,0>", "V(1,0)<1;1,0>")
FINE = WRONG.replace("F(0,0)<1;1,0>", "0x1:d")


def run(capsys: Captured, *words: str) -> tuple[int, str, str]:
    status = main(["check", *words])
    out, err = capsys.readouterr()
    return status, out, err


def written(folder: Path, text: str, name: str = "k.visaasm") -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def test_text(capsys: Captured, tmp_path: Path) -> None:
    file = written(tmp_path, WRONG)
    status, out, err = run(capsys, file)
    assert status == 1
    first, line, caret = out.splitlines()[:3]
    assert first.startswith(f"{file}:7:41: error: src1 is :f; add")
    assert first.endswith("[types]")
    assert line.strip() == "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> F(0,0)<1;1,0>"
    assert caret.strip() == "^" * len("F(0,0)<1;1,0>")
    assert err.startswith("1 error")


def test_json(capsys: Captured, tmp_path: Path) -> None:
    file = written(tmp_path, WRONG)
    status, out, _ = run(capsys, file, "--format", "json")
    found: dict[str, Any] = json.loads(out)
    keys = ["file", "line", "column", "end_line", "severity", "code", "spec"]
    (error,) = (record for record in found["findings"] if record["severity"] == "error")
    place = {k: error[k] for k in keys}
    assert place == {
        "file": file, "line": 7, "column": 41, "end_line": 7,
        "severity": "error", "code": "types", "spec": "ADD",
    }  # fmt: skip
    assert status == found["status"] == 1 and found["program"] == file


def test_json_of_nothing_has_no_findings(capsys: Captured, tmp_path: Path) -> None:
    text = FINE.replace("ret (M1, 1)", "ret (M1_NM, 1)")
    status, out, _ = run(capsys, written(tmp_path, text), "--format", "json")
    found = json.loads(out)
    assert (status, found["status"], found["findings"]) == (0, 0, [])


def test_sarif(capsys: Captured, tmp_path: Path) -> None:
    file = written(tmp_path, WRONG)
    status, out, _ = run(capsys, file, "--format", "sarif")
    log = json.loads(out)
    assert status == 1
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (of_run,) = log["runs"]
    driver = of_run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("eumu", eumu.__version__)
    rules = {rule["id"]: rule for rule in driver["rules"]}
    assert {result["ruleId"] for result in of_run["results"]} == set(rules)
    (error,) = (r for r in of_run["results"] if r["level"] == "error")
    assert "vISA ADD" in error["message"]["text"]
    (location,) = error["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == file
    region = {"startLine": 7, "startColumn": 41, "endLine": 7, "endColumn": 54}
    assert physical["region"] == region
    assert rules["types"]["shortDescription"]["text"]


@pytest.mark.parametrize("text", [WRONG, FINE])
def test_json_has_the_schema_of_runs(capsys: Captured, tmp_path: Path, text: str) -> None:
    _, out, _ = run(capsys, written(tmp_path, text), "--format", "json", "--notes")
    schema = json.loads((HERE.parents[1] / "docs" / "findings.schema.json").read_text())
    fits(json.loads(out), schema, schema)


def test_github_and_junit(capsys: Captured, tmp_path: Path) -> None:
    """A test for each file; warnings fail none, as they make no exit status."""
    files = [written(tmp_path, t, n) for n, t in (("a.visaasm", FINE), ("b.visaasm", WRONG))]
    status, out, _ = run(capsys, *files, "--format", "github")
    assert status == 1 and out.startswith(f"::error file={files[1]},line=7,col=41,title=eumu types")
    status, out, _ = run(capsys, *files, "--format", "junit")
    root = ElementTree.fromstring(out)
    cases = {
        c.get("name"): [f.get("type") for f in c.iter("failure")] for c in root.iter("testcase")
    }
    assert cases == {files[0]: [], files[1]: ["types"]}
    assert (root.get("tests"), root.get("failures"), status) == ("2", "1", 1)


def test_max_findings_and_suppressions(capsys: Captured, tmp_path: Path) -> None:
    file, rules = written(tmp_path, WRONG + WRONG.replace('"k"', '"l"')), tmp_path / "rules"
    every = json.loads(run(capsys, file, "--format", "json", "--notes")[1])
    words = file, "--format", "json", "--notes", "--max-findings", "1"
    status, out, _ = run(capsys, *words)
    found = json.loads(out)
    assert len(every["findings"]) > 1 and every["omitted"] == 0
    assert (len(found["findings"]), found["omitted"]) == (1, len(every["findings"]) - 1)
    rules.write_text("types line=k.visaasm:7\nparse\n")
    assert run(capsys, written(tmp_path, WRONG), "--suppressions", str(rules))[0] == 0
    assert status == 1


def test_warnings_and_notes_are_no_failure(capsys: Captured) -> None:
    file = str(HERE.parent / "kernels" / "bin" / "pvc" / "asm_simd16_in_simd32.bin")
    status, out, err = run(capsys, file)
    assert status == 0
    assert "[narrow-write]" in out and "[scalar-mask]" not in out
    assert "--notes shows the notes" in err
    assert "[scalar-mask]" in run(capsys, file, "--notes")[1]


def test_parity(capsys: Captured, tmp_path: Path) -> None:
    file = written(tmp_path, STRICT)
    assert run(capsys, file)[0] == 1
    assert run(capsys, file, "--parity")[:2] == (0, "")
    assert run(capsys, written(tmp_path, WRONG), "--parity")[0] == 1


def test_the_device_decides(capsys: Captured, tmp_path: Path) -> None:
    file = written(tmp_path, FINE)
    assert run(capsys, file, "--device", "dg2")[0] == 0
    status, out, _ = run(capsys, file, "--device", "skl")
    assert status == 1 and "[platform]" in out


def test_several_files(capsys: Captured, tmp_path: Path) -> None:
    files = [written(tmp_path, t, n) for n, t in (("a.visaasm", FINE), ("b.visaasm", WRONG))]
    status, out, _ = run(capsys, *files, "--format", "json")
    errors = [r["file"] for r in json.loads(out)["findings"] if r["severity"] == "error"]
    assert (status, errors) == (1, [files[1]])


def test_an_object_file(capsys: Captured, tmp_path: Path) -> None:
    """Places are those in the text that `eumu dis` prints."""
    file = tmp_path / "k.isa"
    file.write_bytes(binary.write(text.parse(WRONG, "k", 64), 64))
    status, out, _ = run(capsys, str(file), "--format", "json")
    (error,) = (r for r in json.loads(out)["findings"] if r["severity"] == "error")
    assert main(["dis", str(file), "-o", str(tmp_path / "k.visaasm")]) == 0
    printed = (tmp_path / "k.visaasm").read_text().splitlines()
    assert status == 1
    assert printed[error["line"] - 1][error["column"] - 1 :].startswith("F(0,0)<1;1,0>")


@pytest.mark.parametrize(
    "words",
    [["nothing.visaasm"], ["--device", "gameboy", "FILE"], ["--format", "xml", "FILE"], []],
)
def test_wrong_usage(words: list[str], capsys: Captured, tmp_path: Path) -> None:
    file = written(tmp_path, FINE)
    try:
        status = main(["check", *(file if word == "FILE" else word for word in words)])
    except SystemExit as left:
        status = int(left.code or 0)
    assert status == 2
    assert capsys.readouterr().err


def test_from_python(tmp_path: Path) -> None:
    file = written(tmp_path, WRONG)
    module = text.parse(WRONG, "k", 64)
    for program in (file, Path(file), WRONG.encode(), module, binary.write(module, 64)):
        errors = [d for d in eumu.check(program, "pvc") if d.severity is Severity.ERROR]
        assert [(d.code, d.spec) for d in errors] == [("types", "ADD")]
