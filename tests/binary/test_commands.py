"""`eumu asm`, `eumu dis`, `eumu info` and `eumu.load` of object files."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu import binary, text
from eumu.cli import main
from eumu.program import GenBinary
from kernels import build
from text.corpus import compiled, program

Captured = pytest.CaptureFixture[str]

SCALE = """.version 4.1
.kernel "scale"
.decl IDS v_type=G type=uw num_elts=16 align=GRF
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl N v_type=G type=d num_elts=1 align=dword
.decl X v_type=G type=ud num_elts=16 align=GRF
.decl AT v_type=G type=uq num_elts=16 align=GRFx2
.input IDS offset=64 size=32
.input OUT offset=256 size=8
.input N offset=264 size=4
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=192
    mov (M1, 16) X(0,0)<1> IDS(0,0)<1;1,0>
    shl (M1, 16) AT(0,0)<1> X(0,0)<1;1,0> 0x2:ud
    add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
    mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> N(0,0)<0;1,0>
    lsc_store.ugm (M1, 16)  flat[AT]:a64  X:d32
    ret (M1, 1)
"""


def run(capsys: Captured, *argv: str) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    status = main(argv)
    out = capsys.readouterr()
    return status, out.out, out.err


def test_asm_and_dis(tmp_path: Path, capsys: Captured) -> None:
    source, written = tmp_path / "k.visaasm", tmp_path / "k.isa"
    (kernel,) = compiled("pvc", "saxpy")
    printed = text.print_module(text.parse(kernel.text))
    source.write_text(re.sub(r" v_name=\w+", "", printed))
    assert run(capsys, "asm", str(source), "-o", str(written)) == (0, "", "")
    assert run(capsys, "dis", str(written)) == (0, source.read_text(), "")
    again = tmp_path / "again.visaasm"
    assert run(capsys, "dis", str(written), "-o", str(again)) == (0, "", "")
    assert again.read_text() == source.read_text()


def test_asm_writes_beside_its_input(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "k.visaasm").write_text(SCALE)
    assert run(capsys, "asm", str(tmp_path / "k.visaasm"))[0] == 0
    assert binary.is_object_file((tmp_path / "k.isa").read_bytes())


def test_registers_are_those_of_the_device(tmp_path: Path, capsys: Captured) -> None:
    source, written = tmp_path / "k.visaasm", tmp_path / "k.isa"
    line = "addr_add (M1, 1) A0(0)<1> &BIG[72] 0x40:uw"
    source.write_text(program(line))
    for device in ("skl", "pvc"):
        assert run(capsys, "asm", str(source), "-o", str(written), "--device", device)[0] == 0
        status, out, _ = run(capsys, "dis", str(written), "--device", device)
        assert (status, line in out) == (0, True)
    _, out, _ = run(capsys, "dis", str(written))
    assert "&BIG[40]" in out  # what is row 1, column 2 of pvc, in registers of 32 bytes


def test_errors(tmp_path: Path, capsys: Captured) -> None:
    bad = tmp_path / "bad.visaasm"
    bad.write_text(program("mov (M1, 8) D(256,0)<1> 0x1:d"))
    status, out, err = run(capsys, "asm", str(bad))
    assert (status, out) == (1, "")
    assert "bad.visaasm" in err and "row 0x100 does not fit the object file's 8 bits" in err
    assert not (tmp_path / "bad.isa").exists()
    status, _, err = run(capsys, "dis", str(bad))
    assert status == 1 and "offset 0x0: no object file begins with" in err
    file = tmp_path / "k.isa"
    file.write_bytes(binary.write(text.parse(SCALE)))
    status, _, err = run(capsys, "asm", str(file))
    assert status == 2 and "is an object file already" in err


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    data = binary.write(text.parse(SCALE))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
    status, out, _ = run(capsys, "dis", "-")
    assert (status, out) == (0, text.print_module(text.parse(SCALE)))


def test_info(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "k.isa"
    module = text.parse(SCALE)
    file.write_bytes(binary.write(module))
    _, out, _ = run(capsys, "info", str(file))
    assert out.startswith("k.isa: vISA object file 4.1\n")
    assert "\nkernel scale(" in out
    native = replace(module.kernels[0], gen_binaries=(GenBinary(12, bytes(48)),))
    file.write_bytes(binary.write(replace(module, kernels=(native,))))
    _, out, _ = run(capsys, "info", str(file))
    assert out.startswith("k.isa: for tgllp ")
    assert "native code      48 bytes for tgllp" in out


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_loaded_object_file_runs(engine: str, tmp_path: Path) -> None:
    file = tmp_path / "scale.isa"
    file.write_bytes(binary.write(text.parse(SCALE)))
    device = eumu.Device("pvc", engine)
    results = []
    for loaded in (eumu.load(file), eumu.load(file.read_bytes()), _from_text(tmp_path)):
        out = device.array(np.zeros(16, np.uint32))
        loaded["scale"].launch(device, global_size=16, local_size=16, args=[out, 3])
        results.append(out.numpy().tolist())
    assert results == [[3 * i for i in range(16)]] * 3


def _from_text(folder: Path) -> eumu.Program:
    file = folder / "scale.visaasm"
    file.write_text(SCALE)
    return eumu.load(file)


def test_places_are_lines_of_the_disassembly(tmp_path: Path) -> None:
    file = tmp_path / "bad.isa"
    file.write_bytes(binary.write(text.parse(SCALE.replace("flat[AT]:a64", "arg[AT]:a64"))))
    device = eumu.Device("pvc", "interp")
    out = device.array(np.zeros(16, np.uint32))
    with pytest.raises(
        eumu.Unsupported, match=r"bad\.isa:\d+:5: unsupported: .*implicit arguments at"
    ):
        eumu.load(file)["scale"].launch(device, global_size=16, local_size=16, args=[out, 3])


def test_a_device_is_asked_for_where_it_matters(tmp_path: Path) -> None:
    file = tmp_path / "k.isa"
    file.write_bytes(
        binary.write(text.parse(program("addr_add (M1, 1) A0(0)<1> &BIG[72] 0x40:uw")))
    )
    with pytest.raises(eumu.BuildError, match="name a device"):
        eumu.load(file)
    assert eumu.load(file, device="skl").platform is not None


def test_compiled_programs_are_no_object_files() -> None:
    assert not binary.is_object_file((build.BIN / "pvc" / "saxpy.bin").read_bytes())
