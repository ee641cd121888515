"""Instructions that were changed in a kernel are found from what its memory differs in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.cli.main import main
from eumu.compare import Blame, Launch, Side, blame, tell

TEXT = Path(__file__).with_name("blamed.visaasm").read_text()
LINES = [line.strip() for line in TEXT.splitlines()]
# What is changed: the instruction, or a part of it, and what stands there instead.
EDITS = {
    "constant": ("mul (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> 0x7:d", "0x7:d", "0x6:d"),
    "operand": ("add (M1, 16) T(0,0)<1> T(0,0)<1;1,0> X(0,0)<1;1,0>", "X(0,0)", "S(0,0)"),
    "minus": ("add (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> (-)LANE(0,0)<1;1,0>", "(-)", ""),
    "absolute": (
        "add (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> (-)LANE(0,0)<1;1,0>",
        " Y(0,0)<1;", " (-)Y(0,0)<1;",
    ),
    "comparison": ("cmp.gt (M1, 16) P1 X(0,0)<1;1,0> 0x9:d", "cmp.gt", "cmp.ge"),
    "sources": ("(P1) sel (M1, 16) S(0,0)<1> Y(0,0)<1;1,0> X(0,0)<1;1,0>", "(P1)", "(!P1)"),
    "shift": ("asr (M1, 16) T(0,0)<1> T(0,0)<1;1,0> 0x3:d", "0x3:d", "0x2:d"),
    "sign": ("asr (M1, 16) T(0,0)<1> T(0,0)<1;1,0> 0x3:d", "asr", "shl"),
    "bits": ("xor (M1, 16) T(0,0)<1> T(0,0)<1;1,0> 0x55:d", "xor", "or"),
    "mask": ("and (M1, 16) S(0,0)<1> S(0,0)<1;1,0> 0x1f:d", "0x1f", "0xf"),
    "region": ("and (M1, 16) S(0,0)<1> S(0,0)<1;1,0> 0x1f:d", "<1;1,0>", "<0;1,0>"),
    "place in a region": (
        "add (M1, 16) A(0,0)<1> IN(0,0)<0;1,0> OFF(0,0)<1;1,0>",
        " OFF(0,0)<1", " OFF(0,0)<0",
    ),
    "lanes": ("mul (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> 0x7:d", "(M1, 16)", "(M1, 8)"),
    "order": ("add (M1_NM, 1) C(0,0)<1> C(0,0)<0;1,0> 0x1:d", "0x1:d", "0x2:d"),
    "bound of a loop": ("cmp.lt (M1_NM, 1) P2 C(0,0)<0;1,0> N(0,0)<0;1,0>", "cmp.lt", "cmp.le"),
    "branch": ("(!P3) goto (M1, 16) other", "(!P3)", "(P3)"),
    "condition of a branch": ("cmp.lt (M1, 16) P3 T(0,0)<1;1,0> 0x190:d", "0x190", "0x3e8"),
    "conversion": ("mov (M1, 16) W(0,0)<1> T(0,0)<1;1,0>", " T(", " (abs)T("),
    "address": (
        "add (M1, 16) B(0,0)<1> OUT(0,0)<0;1,0> OFF(0,0)<1;1,0>",
        "OFF(0,0)<1;1,0>", "LANE(0,0)<1;1,0>",
    ),
    "start": ("mov (M1, 16) T(0,0)<1> 0x0:d", "0x0:d", "0x1:d"),
    "left out": ("add (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> (-)LANE(0,0)<1;1,0>", None, None),
    "left out at the end": ("xor (M1, 16) T(0,0)<1> T(0,0)<1;1,0> 0x55:d", None, None),
    "predicate": ("and (M1, 16) S(0,0)<1> S(0,0)<1;1,0> 0x1f:d", "and", "(P3) and"),
    "no predicate": ("(P1) sel (M1, 16) S(0,0)<1> Y(0,0)<1;1,0> X(0,0)<1;1,0>", "X(0,0)", "T(0,0)"),
}  # fmt: skip


def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
    data = np.arange(64, dtype=np.int32) * 3 % 41
    data[5] = -3  # of which a shift keeps the sign
    return {"IN": device.array(data), "OUT": device.array(np.zeros(64, np.int32)), "N": 5}


LAUNCH = Launch("k", (16,), (16,), values)


def side(label: str, text: str) -> Side:
    return Side(label, eumu.load(text.encode(), device="skl"), "visa")


def edited(name: str) -> tuple[str, int]:
    """The text with one instruction changed, and its line, from 1."""
    line, old, new = EDITS[name]
    assert LINES.count(line) == 1
    at = LINES.index(line)
    lines = TEXT.splitlines()
    if old is None:
        lines[at] = ""
    else:
        assert old in lines[at]
        lines[at] = lines[at].replace(old, str(new), 1)
    return "\n".join(lines) + "\n", at + 1


@pytest.mark.parametrize("name", EDITS)
def test_what_was_changed_is_blamed(name: str) -> None:
    text, line = edited(name)
    found = blame(side("left", TEXT), side("right", text), LAUNCH)
    assert isinstance(found, Blame), found
    blamed = [s and s.function.spans[s.event.inst] for s in found.suspects]
    lines = [span and span.line for span in blamed]
    assert line in lines, tell(found)


def test_the_same_is_not_blamed() -> None:
    assert blame(side("left", TEXT), side("right", TEXT), LAUNCH) is None


def test_the_option_is_named(
    ocloc: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "k.cl"
    source.write_text(
        "#ifndef BY\n#define BY 2\n#endif\n"
        "kernel void k(global int *c) { int i = get_global_id(0); c[i] = i * BY + 1; }"
    )
    words = ["--device", "skl", "--global", "16", "--arg", "c=zeros:int32:16"]
    words += ["--other-options=-cl-mad-enable -DBY=3 -DUNUSED"]
    assert main(["blame", str(source), str(source), *words]) == 1
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "without -DBY=3 there is no difference"
    assert "from " in said and "k.cl:4" in said


def test_what_goes_with_two_programs(
    ocloc: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global int *c) { c[get_global_id(0)] = BY; }")
    words = ["--device", "skl", "--global", "16", "--arg", "c=zeros:int32:16"]
    given = ["blame", str(source), "--build-options", "-DBY=1", *words]
    assert main([*given, "--other-options", "-DBY=2"]) == 1
    assert "-DBY=2" in capsys.readouterr().out
    assert main([*given, "--level", "native"]) == 2
    assert "--level is of two programs" in capsys.readouterr().err


def test_threads_of_another_width(ocloc: str, tmp_path: Path) -> None:
    """Of the store that differs: in builds of other widths it is another thread's."""
    source = tmp_path / "k.cl"
    source.write_text(
        "__attribute__((intel_reqd_sub_group_size(WIDTH))) kernel void k(global int *c)"
        " { int i = get_global_id(0); c[i] = i < 24 ? i : i * BY; }"
    )
    built = [
        eumu.build(source, device="skl", options=f"-DBY={by} -DWIDTH={width}")
        for by, width in ((2, 8), (3, 16))
    ]
    left, right = (Side(f"{k}", program, "visa") for k, program in enumerate(built))
    assert built[0]["k"].simd_width != built[1]["k"].simd_width
    launch = Launch("k", (32,), (32,), lambda d, _: {"c": d.array(np.zeros(32, np.int32))})
    found = blame(left, right, launch)
    assert isinstance(found, Blame) and all(found.suspects), tell(found) if found else ""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.visaasm", tmp_path / "bad.visaasm"
    good.write_text(TEXT)
    bad.write_text(edited("shift")[0])
    words = ["--device", "skl", "--global", "16", "--local", "16"]
    words += ["--arg", "IN=arange:int32:64", "--arg", "OUT=zeros:int32:64", "--arg", "N=5"]
    assert main(["blame", str(good), str(bad), *words]) == 1
    said = capsys.readouterr().out
    assert "the first result that leads there" in said
    assert "> asr (M1, 16) T(0,0)<1> T(0,0)<1;1,0> 0x2:d" in said
    assert main(["blame", str(good), str(good), *words]) == 0
