"""Every command that runs kernels, with every kind of file and of value: it answers in words."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from eumu import binary, text
from eumu.cli import main
from eumu.cli.images import read_npy
from eumu.cli.status import UsageError
from kernels import build

TEXT = """.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    ret (M1, 1)
"""
ARGUMENTS = {"saxpy": ("x", "y", "a"), "k": ("OUT",)}
FILES = {
    **{name: "saxpy" for name in ("pvc.bin", "skl.bin", "apl.bin")},
    **{name: "k" for name in ("k.visaasm", "k.isa")},
    **{name: "k" for name in ("empty.bin", "in.npy", "cut.bin", "none.bin", ".", "bytes.visaasm")},
}
VALUES = (
    *("", "0", "-1", "1e23", "nan", "-inf", "9" * 5000, "0x" + "f" * 40, "x", "1,2", ","),
    *("zeros", "zeros:", "zeros:float32:64", "zeros:float32:0", "zeros:float32:-1"),
    *("zeros:int8:" + "9" * 40, "zeros:uint8:1x" * 40, "full:float16:4:1e9", "full:int8:4:2.5"),
    *("full:uint8:4:nan", "full:uint8:4:300", "full:int8:4:0x" + "f" * 5000),
    *("random:int32:4:-5", "arange:float16:x", "local:64", "local:-1", "local:1e9", "null"),
    *("@in.npy", "@none.npy", "@.", "@pvc.bin", "@", "image:R8_UNORM:4x4", "sampler:linear:repeat"),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for device in ("pvc", "skl", "apl"):
        shutil.copy(build.BIN / device / "saxpy.bin", folder / f"{device}.bin")
    (folder / "k.visaasm").write_text(TEXT)
    (folder / "k.isa").write_bytes(binary.write(text.parse(TEXT, "k.visaasm"), 32))
    np.save(folder / "in.npy", np.zeros(64, np.float32))
    (folder / "empty.bin").write_bytes(b"")
    (folder / "cut.bin").write_bytes((folder / "pvc.bin").read_bytes()[:900])
    (folder / "bytes.visaasm").write_bytes(bytes(range(256)))
    return folder


@pytest.mark.parametrize("device", [None, "skl"])
@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize("file", FILES)
def test_every_value_is_answered_in_words(
    file: str,
    command: str,
    device: str | None,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    line = [command, file, "--global", "64", "--fuel", "1000"]
    line += ["--engine", "interp", "--memory", "64"] if command == "run" else []
    line += ["--device", device] if device else []
    names = ARGUMENTS[FILES[file]]
    for number, wrong in enumerate(VALUES):
        given = dict.fromkeys(names, "zeros:float32:64") | {names[number % len(names)]: wrong}
        status = main([*line, *(f"--arg={name}={value}" for name, value in given.items())])
        out, err = capsys.readouterr()
        assert status in (0, 1, 2, 3), wrong
        assert "internal error" not in err and "Traceback" not in err, (wrong[:40], err)
        assert out.strip() or err.partition("error:")[2].strip() or status == 3, (wrong[:40], err)


def test_text_for_no_device_has_one_form(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    line = ["compare", "k.visaasm", "--global", "64", "--arg", "OUT=zeros:float32:64"]
    assert main(line) == 1
    assert "native: not compared: unsupported: k.visaasm has no native code" in (
        capsys.readouterr().out
    )
    assert main([*line, "--device", "pvc"]) == 1
    assert capsys.readouterr().out == "visa is the only form: there is nothing to compare it with\n"


@pytest.mark.parametrize("header", [b"{'descr': ('<f4'", b"{", b"(((", b"'''", b"\0"])
def test_a_header_that_is_none(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "in.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(UsageError, match=r"not a \.npy file"):
        read_npy(str(path))
