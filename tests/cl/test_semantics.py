"""What commands and objects of OpenCL mean to each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cl.programs import SOURCES, engines, environment, run
from drm.programs import compiled
from eumu.zebin import compilers

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed"),
]
CASES = (
    *("markers", "barriers", "memory_is_private_in_a_destructor", "blocking_free"),
    *("arguments_are_not_kept", "huge_rectangles", "execution_info", "binaries_of_parts"),
    *("libraries_of_parts", "headers_without_names", "specialized", "fills", "failed_maps"),
    *("required_groups", "undefined_functions"),
    *("owners_that_were_released", "no_life_after_the_end"),
    *("races", "fork_with_commands", "fork_beside_a_kernel"),
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES / "cl" / "semantics.c", tmp_path_factory.mktemp("semantics"), "OpenCL")


def test_programs_that_are_released_take_their_memory_along(program: Path, tmp_path: Path) -> None:
    """What the engine process has of its own after 100, 200 and 300 programs."""
    with subprocess.Popen(
        [program, "many_programs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(EUMU_TEST_MARK=str(tmp_path), EUMU_DEVICE="skl"),
    ) as host:
        assert host.stdin is not None and host.stdout is not None
        found = []
        for count in (100, 200, 300):
            assert host.stdout.readline() == f"{count}\n"
            (engine,) = engines(f"EUMU_TEST_MARK={tmp_path}")
            status = Path(f"/proc/{engine}/status").read_text("utf-8")
            found.append(int(status.split("RssAnon:")[1].split()[0]))
            host.stdin.write("\n")
            host.stdin.flush()
        assert host.stdout.readline() == "many_programs ok\n"
    assert found[2] - found[1] < 4096, f"{found} KiB"  # once, code is made better meanwhile


@pytest.mark.parametrize(
    ("device", "cases"), [("pvc", CASES), ("skl", ("image_access", "integer_fills", *CASES))]
)
def test_semantics(program: Path, device: str, cases: tuple[str, ...]) -> None:
    done = run(program, *cases, EUMU_DEVICE=device)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{case} ok" for case in cases]
