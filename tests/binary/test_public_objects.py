"""The command that runs public object files, on files of our own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from binary import public_objects
from eumu import binary, text
from eumu.program import GenBinary

MERGE = """.version 3.6
.kernel "MC_MERGE4"
.decl V32 v_type=G type=ud num_elts=1 align=dword
.decl V33 v_type=G type=ud num_elts=1 align=dword
.decl V34 v_type=G type=ub num_elts=256 align=GRF
.decl V35 v_type=G type=ub num_elts=256 align=GRF
.decl V36 v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.input T6 offset=32 size=4
.input T7 offset=36 size=4
.input V36 offset=40 size=4
.kernel_attr Target="cm"
    mul (M1, 1) V32(0,0)<1> %thread_x(0,0)<0;1,0> 0x10:uw
    mul (M1, 1) V33(0,0)<1> %thread_y(0,0)<0;1,0> 0x10:uw
    media_ld.nomod (16,16) T6 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    media_ld.nomod (16,16) T7 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V35.0
{average}
    media_st.nomod (16,16) T6 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    ret (M1, 1)
"""
RIGHT = "\n".join(
    f"    avg (M1, 32) V34({k},0)<1> V34({k},0)<1;1,0> V35({k},0)<1;1,0>" for k in range(8)
)


def object_file(source: str, platform: int) -> bytes:
    """An object file with native code that says which platform it is for."""
    module = text.parse(source)
    native = (GenBinary(platform, bytes(16)),)
    kernels = tuple(replace(k, gen_binaries=native) for k in module.kernels)
    return binary.write(replace(module, kernels=kernels))


def table(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = public_objects.main([str(folder)])
    return status, capsys.readouterr().out


def test_files_and_arrays_in_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = object_file(MERGE.format(average=RIGHT), 5)
    (tmp_path / "merge.isa").write_bytes(data)
    (tmp_path / "below").mkdir()
    words = ", ".join(f"0x{b:02x}" for b in object_file(MERGE.format(average=RIGHT), 12))
    source = f"/* 0x43 */ static const unsigned char code[{len(data)}] = {{ {words} }};"
    (tmp_path / "below" / "merge.cpp").write_text(source)
    (tmp_path / "below" / "none.cpp").write_text("int x[3] = {1, 2, 3};")
    status, out = table(tmp_path, capsys)
    assert status == 0
    assert "2 3.6 decodes and encodes the same" in out and "2 agrees" in out
    assert "skl    MC_MERGE4" in out and "tgllp  MC_MERGE4" in out
    assert out.count("5 of 5 choices ran") == out.count("1 of 2 surfaces written; as NumPy") == 2


def test_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.isa").write_bytes(object_file(MERGE.format(average=""), 5))
    status, out = table(tmp_path, capsys)
    assert status == 1 and "NOT as NumPy says" in out


def test_what_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = object_file(MERGE.format(average=RIGHT), 7)
    (tmp_path / "cannonlake.isa").write_bytes(data)
    (tmp_path / "old.isa").write_bytes(data[:5] + b"\2" + data[6:])
    forward = "    raw_send (M1, 16) 0x3 1 0  0x2000002:ud V34.0 %null.0"
    (tmp_path / "refused.isa").write_bytes(object_file(MERGE.format(average=forward), 5))
    status, out = table(tmp_path, capsys)
    assert status == 0
    assert "1 cannot be read: version 3.2" in out and "1 no platform" in out
    assert "refused: raw_send: the message 'message gateway: forward'" in out
