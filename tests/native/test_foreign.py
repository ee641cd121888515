"""Native code of later generations: what a disassembler prints, and what is said without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu import zebin
from eumu.cli.main import main
from eumu.errors import ToolMissing
from eumu.native import foreign
from eumu.platforms import platform

PROGRAM = Path(__file__).resolve().parents[1] / "kernels/bin/pvc/saxpy.bin"


def tool(directory: Path, name: str, script: str) -> str:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_the_first_that_knows_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tool(tmp_path, "old", 'echo "invalid platform option" >&2; exit 1')
    new = tool(tmp_path, "new", 'echo "$1 $2"')
    monkeypatch.setenv("EUMU_IGA64", f"{old}:{new}")
    assert foreign.disassemble(b"code", platform("bmg"), "k") == "-d -p=xe2\n"
    monkeypatch.setenv("EUMU_IGA64", old)
    with pytest.raises(ToolMissing, match=r"native code of bmg .*old cannot disassemble"):
        foreign.disassemble(b"code", platform("bmg"), "k")


def test_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("EUMU_IGA64", raising=False)
    with pytest.raises(ToolMissing, match="that is not installed\n  install it with: sudo apt"):
        foreign.disassemble(b"code", platform("pvc"), "k")
    monkeypatch.setenv("EUMU_IGA64", "/nowhere/iga64")
    with pytest.raises(ToolMissing, match="EUMU_IGA64 names /nowhere/iga64"):
        foreign.disassemble(b"code", platform("pvc"), "k")


def test_code_of_pvc(iga64: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dis", str(PROGRAM)]) == 0
    text = capsys.readouterr().out
    assert "send" in text and "r127" in text
    assert zebin.read(PROGRAM.read_bytes(), "k").kernels[0].name == "saxpy"
