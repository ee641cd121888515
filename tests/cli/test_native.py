"""`eumu asm` and `eumu dis` of native code."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu.cli import main
from native.samples import KERNELS, native_sections, plain

SAXPY = KERNELS / "apl" / "saxpy.bin"
Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *argv: str) -> tuple[int, str, str]:
    status = main(argv)
    out = capsys.readouterr()
    return status, out.out, out.err


def test_text_of_a_compiled_program_assembles_again(capsys: Captured, tmp_path: Path) -> None:
    text, code = tmp_path / "saxpy.asm", tmp_path / "saxpy.dat"
    assert run(capsys, "dis", str(SAXPY), "-o", str(text)) == (0, "", "")
    assert "data cache data port 1: untyped surface read" in text.read_text()
    assert run(capsys, "asm", "--level", "native", str(text)) == (0, "", "")
    original = dict(native_sections(SAXPY))[".text.saxpy"]
    assert code.read_bytes() == original[: len(code.read_bytes())]
    assert not any(original[len(code.read_bytes()) :])
    status, out, _ = run(capsys, "dis", "--level", "native", str(code))
    assert status == 0 and plain(out) == plain(text.read_text())


def test_kernels_are_chosen_by_name(capsys: Captured) -> None:
    file = str(KERNELS / "skl" / "control_flow.bin")
    _, every, _ = run(capsys, "dis", file)
    _, one, _ = run(capsys, "dis", file, "--kernel", "collatz")
    assert "// kernel collatz\n" in every and one in every and len(one) < len(every)
    status, _, err = run(capsys, "dis", file, "--kernel", "nothing")
    assert status == 1 and "has no kernel 'nothing'; it has " in err


def test_what_cannot_be_read(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "wrong.dat"
    wrong.write_bytes(b"\x0b" + bytes(15))
    status, _, err = run(capsys, "dis", "--level", "native", str(wrong))
    assert status == 1 and "wrong.dat+0x0:1:1: error: there is no opcode 0x0b" in err
    status, _, err = run(capsys, "dis", "--level", "native", "--kernel", "k", str(wrong))
    assert status == 2 and "raw code" in err
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))  # where no iga64 is
        status, _, err = run(capsys, "dis", str(KERNELS / "pvc" / "saxpy.bin"))
    assert status == 1 and "native code of pvc" in err and "not installed" in err
    wrong.write_text("add (8|M0) r1\n")
    status, _, err = run(capsys, "asm", "--level", "native", str(wrong))
    assert status == 1 and "wrong.dat:1:14: error: expected a type" in err
