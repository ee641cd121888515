"""What commands and objects of OpenCL mean to each other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cl.programs import SOURCES, run
from drm.programs import compiled
from eumu.zebin import compilers

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed"),
]
CASES = (
    *("markers", "barriers", "memory_is_private_in_a_destructor", "blocking_free"),
    *("huge_rectangles", "execution_info", "binaries_of_parts", "headers_without_names"),
    *("specialized", "fills", "failed_maps", "races", "fork_with_commands", "fork_beside_a_kernel"),
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES / "cl" / "semantics.c", tmp_path_factory.mktemp("semantics"), "OpenCL")


@pytest.mark.parametrize(("device", "cases"), [("pvc", CASES), ("skl", (*CASES, "image_access"))])
def test_semantics(program: Path, device: str, cases: tuple[str, ...]) -> None:
    done = run(program, *cases, EUMU_DEVICE=device)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{case} ok" for case in cases]
