"""`eumu commands`."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu.cli import main
from eumu.device.commands import encode, gpgpu, mi


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    file = tmp_path / "batch.bin"
    walker = gpgpu.GpgpuWalker(thread_group_id_x_dimension=640)
    file.write_bytes(bytes(8) + encode([walker, mi.MiBatchBufferEnd()]))
    return file


def test_a_batch_in_words(batch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commands", str(batch), "--offset", "8", "--base", "0x4000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0x00004000  GPGPU_WALKER" and lines[1].endswith("X Dimension: 640")
    assert lines[-1] == "0x0000403c  MI_BATCH_BUFFER_END"


def test_what_is_no_command(batch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch.write_bytes(encode([mi.MiNoop()]) + b"\xff" * 4)
    assert main(["commands", str(batch)]) == 1
    captured = capsys.readouterr()
    assert "MI_NOOP" in captured.out
    assert "no command has the header 0xffffffff (at 0x4)" in captured.err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commands", "nowhere.bin"]) == 2
    assert "nowhere.bin" in capsys.readouterr().err
