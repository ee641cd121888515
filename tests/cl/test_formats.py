"""Images of every format, read, filtered, written and filled, on eumu's driver and on Intel's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cl.programs import SOURCES, run
from drm.programs import compiled
from drm.programs import run as run_on_intels
from eumu.drm.session import missing_packages
from eumu.zebin import compilers

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the drivers are those for Linux"),
    pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed"),
]
# What Intel's driver has besides: depth with a stencil, which is OpenGL's, and video.
OTHERS = ("10be ", "4076 ", "4077 ", "4078 ", "4079 ", "410e ")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES / "cl" / "formats.c", tmp_path_factory.mktemp("formats"), "OpenCL")


def _lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    return sorted(done.stdout.splitlines())


@pytest.fixture(scope="module")
def ours(program: Path) -> list[str]:
    return _lines(run(program, EUMU_DEVICE="skl"))


def test_both_drivers_have_the_same_images(program: Path, ours: list[str]) -> None:
    """The formats by kind and access, and each bit of what is read and written, as lines."""
    if lines := missing_packages():
        pytest.skip("; ".join(lines))
    theirs = _lines(run_on_intels(program, options=["--device", "skl"]))
    assert ours == [line for line in theirs if not line.startswith(OTHERS)]
    assert len(ours) > 1000


@pytest.mark.parametrize("device", ["tgllp", "dg2"])
def test_other_devices_have_them_too(device: str, program: Path, ours: list[str]) -> None:
    assert _lines(run(program, EUMU_DEVICE=device)) == ours
