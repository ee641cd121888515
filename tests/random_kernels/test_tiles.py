"""Random loops over shared local memory, on both engines; more by ``run.py --tiles``."""

from __future__ import annotations

from typing import Any

import pytest

from eumu import verify
from eumu.errors import Severity
from eumu.exec.interp import Interpreter
from eumu.exec.jit.codegen import merged
from eumu.fuzz.machine import differences, fault_of
from eumu.fuzz.tiles import Tiles
from eumu.platforms import platform
from random_kernels.run import TILES, bundle
from random_kernels.test_walking import LITTLE

_LEAVING = 4  # a number of a bundle that goes outside


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many accesses have one check, for each such check."""
    found: list[int] = []
    check = merged._check

    def counted(k: Any, index: int, group: Any, accesses: Any) -> str:
        found.append(len(accesses))
        return check(k, index, group, accesses)

    monkeypatch.setattr(merged, "_check", counted)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", range(TILES, TILES + 6))
def test_engines_agree(number: int, together: list[int]) -> None:
    """Two devices, sub-groups of 8 to 32; in some kernels accesses are checked together."""
    found = differences(bundle(number), LITTLE)
    assert not found, f"{found[:3]}; python tests/random_kernels/run.py --only {number}"
    assert len(together) >= 5


def test_some_go_outside() -> None:
    grid, memory, _ = bundle(TILES + _LEAVING).grid()
    assert "outside" in fault_of(grid, memory, Interpreter())


@pytest.mark.parametrize("number", range(TILES, TILES + 6))
def test_tiles_are_valid(number: int) -> None:
    made = bundle(number)
    found = verify.check_text(made.text(), "random", platform(made.device))
    wrong = [str(d) for d in found if d.severity is Severity.ERROR]
    assert not wrong, "\n".join(wrong[:3])
    again = Tiles.read(made.file())
    assert again.text() == made.text() and again.initial() == made.initial()
