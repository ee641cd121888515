"""Pictures on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eumu.cli.main import main
from images.image_programs import elf

pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed (pip install pillow)")
PLAIN = str(elf("plain", "skl"))


def test_a_picture_goes_through_a_kernel(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (6, 9, 4), dtype=np.uint8)
    pillow.fromarray(pixels).save(tmp_path / "in.png")
    given = [f"a=@{tmp_path / 'in.png'}", "b=image:BGRA8_UNORM:9x6"]
    arguments = [x for arg in given for x in ("--arg", arg)]
    out = tmp_path / "out.png"
    run = ["run", PLAIN, "--kernel", "copy2", "--global", "9,6", "-q", *arguments]
    assert main([*run, "--save", f"b={out}"]) == 0
    assert (np.asarray(pillow.open(out)) == pixels).all()
    assert main([*run, "--save", f"b={tmp_path / 'out.npy'}"]) == 0
    assert (np.load(tmp_path / "out.npy")[..., [2, 1, 0, 3]] == pixels).all()


def test_arrays_become_images(tmp_path: Path) -> None:
    values = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.save(tmp_path / "in.npy", values)
    run = ["run", PLAIN, "--kernel", "copy2", "--global", "5,4", "-q"]
    run += ["--arg", f"a=@{tmp_path / 'in.npy'}", "--arg", "b=image:R32_FLOAT:5x4"]
    assert main([*run, "--save", f"b={tmp_path / 'out.npy'}"]) == 0
    assert (np.load(tmp_path / "out.npy") == values).all()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("7", "give @photo.png"),
        ("image:RGBA8_UNORM:9", "1 to 3 dimensions besides layers and channels"),
        ("image:RGBA8:9x9", "format 'RGBA8' is not known"),
        ("image:RGBA8_UNORM:9x-1", "the form is image:FORMAT:SHAPE"),
        ("@nowhere.png", "no such file"),
    ],
)
def test_wrong_images(value: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", PLAIN, "--kernel", "copy2", "--global", "9,6", "--arg", f"a={value}"]
    assert main([*run, "--arg", "b=image:RGBA8_UNORM:9x6"]) in (1, 2)
    assert words in capsys.readouterr().err


def test_wrong_samplers(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", str(elf("sampled", "skl")), "--kernel", "f2", "--global", "4"]
    run += ["--arg", "a=image:RGBA8_UNORM:4x4", "--arg", "c=zeros:float32:16"]
    run += ["--arg", "o=zeros:float32:16", "--arg", "s=sampler:linear"]
    assert main(run) == 2
    assert "the form is sampler:linear:repeat" in capsys.readouterr().err
