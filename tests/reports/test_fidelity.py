"""What a report says of results that are not exact: which they are, and what they reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.cli import main
from eumu.device.profile import Profile
from eumu.exec.fidelity import Followed, Use, labels
from eumu.ir import Function
from eumu.ir.fidelity import Fidelity
from eumu.isa.gen9.registry import GEN9
from eumu.isa.mathlib import BOUNDS
from eumu.isa.visa.registry import VISA
from eumu.reports import fidelity

SOURCE = Path(__file__).with_name("fidelity.cl")
PICTURES = Path(__file__).with_name("fidelity_images.cl")
LEVELS = [("skl", "visa"), ("skl", "native"), ("pvc", "visa")]


IMAGES = ("sampled", "fetched", "at_a_root")
MATH, FLOAT_FUNCTIONS = 0x38, {1, 2, 3, 4, 5, 6, 7, 9, 10}  # of native code
FLOATS = ("values", "exact", "at_a_root")  # what they store


def _followed(name: str, device: str, level: str) -> dict[str, Any]:
    """What a report says of a kernel of the file, launched with 64 work items."""
    dev = eumu.Device(device)
    dev.observer = profile = Profile(l3=None)
    given = dev.array(np.linspace(1, 15, 64, dtype=np.float32))
    picture = dev.image(np.arange(64, dtype=np.float32).reshape(1, 64), format="R32_FLOAT")
    out = dev.array(np.zeros(256, np.float32 if name in FLOATS else np.int32))
    table = given if name == "at_a_root" else dev.array(np.zeros(256, np.int32))
    kernel = eumu.load(PICTURES if name in IMAGES else SOURCE, device=device)[name]
    second = picture if name in IMAGES else given
    kernel.launch(dev, 64, 64, [out, second, table], level=level)
    return fidelity.record(profile.fidelity)


def _reached(found: dict[str, Any]) -> set[tuple[str, str]]:
    """What was reached, and the level of what did."""
    return {(row["reached"], source["level"]) for row in found["reached"] for source in row["from"]}


@pytest.mark.parametrize(("device", "level"), LEVELS)
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("address", {("address", "ulp")}),
        ("divided", {("address", "ulp")}),
        ("branch", {("branch", "ulp")}),
        ("predicate", {("predicate", "ulp")}),
        ("atomic", {("atomic", "ulp")}),
        ("values", set()),
        ("exact", set()),
        ("shared", {("address", "ulp")}),
        ("over", set()),
        ("indexed", {("address", "ulp")}),
        ("called", {("address", "ulp")}),
        ("recursive", {("address", "ulp")}),
        ("shuffled", {("address", "ulp")}),
        ("sampled", {("address", "approximate")}),
        ("fetched", set()),
        ("at_a_root", {("message", "ulp")}),
    ],
)
def test_what_is_reached(name: str, wanted: set[tuple[str, str]], device: str, level: str) -> None:
    if name in IMAGES and device == "pvc":
        return  # it has no sampler
    found = _followed(name, device, level)
    assert _reached(found) == wanted


def test_what_is_said() -> None:
    found = _followed("branch", "pvc", "visa")
    assert found["issued"]["ulp"] == 2 and not found["issued"]["approximate"]
    (row,) = found["inexact"]
    assert (row["instruction"], row["line"], row["level"]) == ("exp", 15, "ulp")
    (use,) = found["reached"]
    assert (use["line"], use["lanes"]) == (15, 64) and use["from"][0]["line"] == 15
    first, second, third = fidelity.sentences(found)
    assert "2 within a bound" in first and "reached a branch" in second
    assert third == "They reached no address, predicate, atomic operation and no message."


def test_exact_runs_have_nothing_to_tell() -> None:
    found = _followed("exact", "pvc", "visa")
    assert not found["inexact"] and len(list(fidelity.sentences(found))) == 1


def test_more_instructions_than_labels() -> None:
    """The last labels are shared by all that have no own one, level by level."""
    near, far = Fidelity("ulp", "1 in f"), Fidelity("approximate", "open")
    function = Function("many", 8, 32, fidelity={k: (near, far)[k % 2] for k in range(100)})
    given = labels(function)
    assert len({given[k] for k in range(62)}) == 62
    assert {given[k] for k in range(62, 100, 2)} == {1 << 62}
    assert {given[k] for k in range(63, 100, 2)} == {1 << 63}
    use = Use(1 << 63 | 1, 1)
    assert list(Followed(function).sources(use)) == [0, *range(63, 100, 2)]


def test_instructions_of_the_math_unit() -> None:
    """None is exact, as hardware may round otherwise; the bounds are those that are measured."""
    pages = {"EXP", "LOG", "SIN", "COS", "SQRT", "RSQRT", "INV", "POW", "DIV"}
    visa = [o for o in VISA if o.page in pages]
    native = [o for o in GEN9 if o.number == MATH and o.sub in FLOAT_FUNCTIONS]
    assert len(visa) == len(pages) and len(native) == len(FLOAT_FUNCTIONS)
    assert {o.fidelity.level for o in (*visa, *native)} == {"ulp"}
    assert all(bound.ulp <= 4 for bounds in BOUNDS.values() for bound in bounds.values())


@pytest.mark.parametrize("name", ["f.html", "f.json"])
def test_reports_of_the_command_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    words = [str(SOURCE), "--kernel", "address", "--device", "pvc", "--global", "64", "-q"]
    words += ["--arg", "out=zeros:int32:64", "--arg", "in=ones:float32:64"]
    words += ["--arg", "table=zeros:int32:64", "--report", str(path)]
    texts = []
    for _ in range(2):
        assert main(["run", *words]) == 0
        texts.append(path.read_text())
    assert texts[0] == texts[1]
    if name.endswith("json"):
        found = json.loads(texts[0])["fidelity"]
        assert _reached(found) == {("address", "ulp")}
    else:
        assert "Results that are not exact reached an address." in texts[0]
