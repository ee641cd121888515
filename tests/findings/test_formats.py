"""`eumu run --format`: one record in every format; how many, which not, and exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from eumu.cli.main import main

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BAD = HERE / "bad.cl"
HALF = ROOT / "tests" / "kernels" / "bin" / "pvc" / "asm_simd16_in_simd32.bin"
GIVEN = ["--global", "64", "--arg", "out=zeros:float32:64", "--arg", "in=ones:float32:64"]
Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *words: str) -> tuple[int, str, str]:
    status = main(["run", *words])
    out, err = capsys.readouterr()
    return status, out, err


def fault(capsys: Captured, form: str, *more: str) -> tuple[int, str, str]:
    return run(capsys, str(BAD), "--device", "skl", *GIVEN, "--arg", "n=3", "--format", form, *more)


def checked(capsys: Captured, *more: str) -> tuple[int, str, str]:
    words = ["--engine", "interp", "--global", "32", "--arg", "a=ones:float32:32", "--check", *more]
    return run(capsys, str(HALF), *words)


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> None:
    """As much of JSON Schema as the published one uses."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        assert value in schema["enum"], at
    if "const" in schema:
        assert value == schema["const"], at
    kinds = schema.get("type", [])
    names = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    if kinds:
        allowed = tuple(names[k] for k in ([kinds] if isinstance(kinds, str) else kinds))
        assert isinstance(value, allowed), (at, value)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= value.keys(), at
        assert value.keys() <= schema["properties"].keys(), (at, set(value))
        for key, item in value.items():
            fits(item, schema["properties"][key], root, f"{at}.{key}")
    if isinstance(value, list):
        assert len(value) >= schema.get("minItems", 0), at
        for item in value:
            fits(item, schema["items"], root, f"{at}[]")
    if isinstance(value, int):
        assert value >= schema.get("minimum", value), at


def test_json_is_one_object_of_the_schema(capsys: Captured, ocloc: str) -> None:
    status, out, err = fault(capsys, "json")
    found = json.loads(out)
    schema = json.loads((ROOT / "docs" / "findings.schema.json").read_text())
    fits(found, schema, schema)
    assert (status, err) == (3, "") and found["status"] == 3
    (finding,) = found["findings"]
    assert (finding["code"], finding["severity"]) == ("out-of-bounds", "error")
    assert (finding["file"], finding["line"], finding["column"]) == (str(BAD), 2, 12)
    assert (finding["global_id"], finding["group_id"]) == ([63, 0, 0], [0, 0, 0])
    assert (finding["array"], finding["offset"], finding["element"]) == ("in", 256, 64)
    assert finding["inlined"][0]["line"] == 9 and finding["kernel"] == "windows"
    assert finding["related"] == []


def test_the_same_input_the_same_bytes(capsys: Captured, ocloc: str) -> None:
    assert fault(capsys, "json") == fault(capsys, "json")
    assert fault(capsys, "sarif", "--seed", "1")[1] == fault(capsys, "sarif", "--seed", "2")[1]


def test_sarif(capsys: Captured, ocloc: str) -> None:
    found = json.loads(fault(capsys, "sarif")[1])
    (result,) = found["runs"][0]["results"]
    assert found["version"] == "2.1.0" and result["ruleId"] == "out-of-bounds"
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 2, "startColumn": 12}
    assert place["artifactLocation"]["uri"] == str(BAD)


def test_names_in_sarif_are_uris(capsys: Captured, tmp_path: Path, ocloc: str) -> None:
    """A colon would begin a scheme, and a space is none of a URI."""
    file = tmp_path / "a b:c.cl"
    file.write_bytes(BAD.read_bytes())
    words = [str(file), "--device", "skl", *GIVEN, "--arg", "n=3", "--format", "sarif"]
    (result,) = json.loads(run(capsys, *words)[1])["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == f"{tmp_path}/a%20b%3Ac.cl"
    (result,) = json.loads(checked(capsys, "--format", "sarif")[1])["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("asm_simd16_in_simd32.bin%3A")


def test_github(capsys: Captured, ocloc: str) -> None:
    status, out, _ = fault(capsys, "github")
    assert status == 3 and out.count("\n") == 1
    assert out.startswith(f"::error file={BAD},line=2,col=12,title=eumu out-of-bounds::load of 4")
    assert "%0A" in out


def test_junit(capsys: Captured, ocloc: str) -> None:
    root = ElementTree.fromstring(fault(capsys, "junit")[1])
    (failure,) = root.iter("failure")
    assert failure.get("type") == "out-of-bounds"
    assert failure.text is not None and "bad.cl:2:12" in failure.text
    (case,) = root.iter("testcase")
    assert case.get("name") == "windows"


def test_nothing_is_found(capsys: Captured, ocloc: str) -> None:
    words = [str(BAD), "--device", "skl", *GIVEN, "--arg", "n=1", "--format"]
    status, out, _ = run(capsys, *words, "json")
    assert status == 0 and json.loads(out)["findings"] == []
    assert run(capsys, *words, "github") == (0, "", "")
    root = ElementTree.fromstring(run(capsys, *words, "junit")[1])
    assert root.get("failures") == "0" and list(root.iter("testcase"))


def test_a_program_that_does_not_build(capsys: Captured, tmp_path: Path, ocloc: str) -> None:
    file = tmp_path / "broken.cl"
    file.write_text("kernel void f(global int *p) {\n    p[0] = ;\n}\n")
    status, out, _ = run(capsys, str(file), "--global", "1", "--format", "json")
    found = json.loads(out)
    assert status == found["status"] == 1
    assert [(f["line"], f["column"]) for f in found["findings"]] == [(2, 12)]


def test_findings_of_a_checked_run(capsys: Captured) -> None:
    status, out, err = checked(capsys, "--format", "json")
    found = json.loads(out)
    assert (status, err) == (1, "")
    (finding,) = found["findings"]
    assert finding["code"] == "undefined" and finding["lanes"] == list(range(16, 32))
    assert finding["instruction"]["text"].startswith("lsc_store.ugm (M1, 32)")


def test_max_findings(capsys: Captured, tmp_path: Path, ocloc: str) -> None:
    file = tmp_path / "many.cl"
    lines = [f"    p[{k}] = t[{k}];" for k in range(3)]
    file.write_text(
        "kernel void f(global int *p) {\n    local int t[8];\n" + "\n".join(lines) + "}"
    )
    words = [str(file), "--global", "1", "--arg", "p=zeros:int32:8", "--check", "--format", "json"]
    every = json.loads(run(capsys, *words, "--max-findings", "0")[1])
    assert len(every["findings"]) >= 1 and every["omitted"] == 0
    some = json.loads(run(capsys, *words, "--max-findings", "1")[1])
    assert len(some["findings"]) == 1
    assert some["omitted"] == len(every["findings"]) - 1


def test_suppressions(capsys: Captured, tmp_path: Path) -> None:
    rules = tmp_path / "known.txt"
    for text, status in (
        ("undefined", 0),
        ("undefined kernel=half_*  # known\n", 0),
        ("undef* line=*:78", 0),
        ("undefined line=78", 0),
        ("undefined kernel=other", 1),
        ("undefined line=79", 1),
        ("race", 1),
    ):
        rules.write_text(text)
        found = checked(capsys, "--format", "json", "--suppressions", str(rules))
        assert found[0] == status, text
        assert json.loads(found[1])["suppressed"] == 1 - status
    rules.write_text("undefined because=of")
    assert run(capsys, str(HALF), "--global", "32", "--suppressions", str(rules))[0] == 1


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_limit_of_time(capsys: Captured, engine: str) -> None:
    program = ROOT / "tests" / "kernels" / "bin" / "pvc" / "endless.bin"
    arrays = ["--arg", "0=zeros:int32:64", "--arg", "1=zeros:int32:64"]
    words = [str(program), "--engine", engine, "--global", "64", *arrays, "--timeout", "0.2"]
    status, out, _ = run(capsys, *words, "--fuel", str(1 << 50), "--format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (status, finding["code"], finding["kernel"]) == (3, "timeout", "endless")


def test_wrong_options(capsys: Captured) -> None:
    given = (str(HALF), "--global", "32", "--arg", "a=ones:float32:32")
    for words in (("--check=nothing",), ("--timeout", "x"), ("--max-findings", "-1")):
        status, _, err = run(capsys, *given, *words)
        assert status == 2 and words[-1].partition("=")[2] in err
    assert re.search("undefined, .*, races", run(capsys, *given, "--check=none")[2])
