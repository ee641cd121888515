"""`eumu blame --bug-report`: a known bug of the compiler becomes a report of few lines."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from eumu.cli.main import main
from eumu.compare.reduce import reduce

# More than the bug: at -O0 the compiler shifts the low half right by 32 (docs/findings.md).
SOURCE = """\
kernel void k(global const ulong *a, global ulong *o, int n) {
    int i = get_global_id(0);
    ulong x = a[i];
    ulong y = x + 3;
    for (int k = 0; k < n; k++)
        y += k * x;
    ulong z = x << 0;
    o[i] = z;
}
"""
SHORT = """\
kernel void k(global const ulong *a, global ulong *o, int n) {
    int i = get_global_id(0);
    ulong x = a[i];
    ulong z = x << 0;
    o[i] = z;
}
"""
ARGUMENTS = ["--global", "8", "--arg", "a=full:uint64:8:0x123456789abcdef0"]
ARGUMENTS += ["--arg", "o=zeros:uint64:8", "--arg", "n=3"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ocloc") is None, reason="ocloc is not installed")
def test_a_known_bug_becomes_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("EUMU_OCLOC", raising=False)
    source, report = tmp_path / "k.cl", tmp_path / "bug.md"
    source.write_text(SOURCE)
    words = ["blame", str(source), str(source), "--device", "dg2", *ARGUMENTS]
    words += ["--other-options=-cl-opt-disable", "--bug-report", str(report)]
    assert main(words) == 1
    assert f"the report is in {report}" in capsys.readouterr().out
    text = report.read_text()
    assert f"```c\n{SHORT}```" in text
    assert f"`{' '.join(ARGUMENTS)}`" in text
    assert re.search(r"\| [\d.]+ with no options \| visa \| 1311768467463790320 \|", text)
    bad = r"\| [\d.]+ with `-cl-opt-disable` \| visa \| 11150031936791830256 \|"
    assert re.search(bad, text)
    # It joins the high half with the low one: addresses differ, too, but data come first.
    assert re.search(r"    > or \(M1, 8\) .*\n      V\d+: 0x9abcdef8 ", text)


def test_a_report_is_of_opencl_c(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["blame", "k.visaasm", "--global", "8", "--bug-report", "bug.md"]
    assert main(words) == 2
    assert "--bug-report is for OpenCL C (.cl)" in capsys.readouterr().err


def test_a_loop_goes_with_its_body_and_then_what_it_needed() -> None:
    """Neither line can go alone, and a third one only after both."""

    def still(text: str) -> bool:
        lines = text.split()
        return "bug" in lines and ("for" in lines) == ("body" in lines) <= ("sum" in lines)

    assert reduce("a\nsum\nb\nfor\nbody\nc\nbug\nd\n", still) == "bug\n"
