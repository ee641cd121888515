"""A Vulkan program on Mesa's driver: compute shaders run, draws are refused by name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from drm.programs import compiled, run

ICD = Path("/usr/share/vulkan/icd.d/intel_icd.x86_64.json")
HERE = Path(__file__).parent
TOOL = "glslangValidator"
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(not ICD.exists(), reason="Mesa's driver is not installed"),
    pytest.mark.skipif(shutil.which(TOOL) is None, reason=f"{TOOL} is not installed"),
    pytest.mark.skipif(
        not Path("/usr/include/vulkan/vulkan.h").exists(), reason="libvulkan-dev is not installed"
    ),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(HERE / "vulkan.c", tmp_path_factory.mktemp("vulkan"), "vulkan")


@pytest.fixture(scope="module")
def shader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shader") / "sums.spv"
    subprocess.run([TOOL, "-V", "-o", made, HERE / "sums.comp"], check=True, capture_output=True)
    return made


@pytest.mark.parametrize(
    ("engine", "device", "name"),
    [("jit", "skl", "HD Graphics 530 (SKL GT2)"), ("interp", "kbl", "HD Graphics 630 (KBL GT2)")],
)
def test_compute(program: Path, shader: Path, engine: str, device: str, name: str) -> None:
    """Three dispatches, each with its wait: shared memory, barriers, push constants."""
    options = "--engine", engine, "--device", device
    done = run(program, shader, options=options, VK_ICD_FILENAMES=str(ICD))
    assert done.returncode == 0, done.stdout + done.stderr
    assert name in done.stdout and "sums ok" in done.stdout


def test_a_record_is_refused(program: Path, tmp_path: Path) -> None:
    done = run(program, options=("--dump", str(tmp_path)), VK_ICD_FILENAMES=str(ICD))
    assert "there are no records of programs for Vulkan" in done.stderr
    assert done.returncode == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("draw", ["fill", "copy"])
def test_draws_are_refused_by_name(program: Path, draw: str) -> None:
    """The program is told that the device is lost (VK_ERROR_DEVICE_LOST)."""
    done = run(program, draw, VK_ICD_FILENAMES=str(ICD))
    assert f"{draw} -4" in done.stdout and done.returncode == 3, done.stdout + done.stderr
    assert "3DPRIMITIVE at " in done.stderr and "vkCmdFillBuffer, vkCmdCopyBuffer" in done.stderr


@pytest.mark.skipif(shutil.which("vulkaninfo") is None, reason="vulkaninfo is not installed")
def test_what_the_device_says_of_itself() -> None:
    done = run("vulkaninfo", "--summary", VK_ICD_FILENAMES=str(ICD))
    assert done.returncode == 0 and "deviceID           = 0x1912" in done.stdout, done.stderr


def test_other_drivers_find_what_they_found_before(program: Path, tmp_path: Path) -> None:
    """Paths lead elsewhere for a program that has loaded Mesa's driver, and for nobody else."""
    words = "import os, sys; print(os.path.exists('/dev/dri/renderD128'))"
    done = run(sys.executable, "-c", words)
    assert done.stdout == "False\n" and done.returncode == 0, done.stderr
